import { describe, expect, test } from 'vitest'
import { parseServerAddress, spelledHostOf } from '../../src/domain/server-address.ts'

describe('addresses that people type', () => {
  test.for([
    ['mc.example.com', 'mc.example.com', 25565],
    ['MC.Example.COM.', 'mc.example.com', 25565],
    ['my_server.example.com', 'my_server.example.com', 25565],
    ['localhost', 'localhost', 25565],
    ['mc.example.com:25566', 'mc.example.com', 25566],
    ['mc.example.com:25565', 'mc.example.com', 25565],
    ['mc.example.com:1', 'mc.example.com', 1],
    ['mc.example.com:65535', 'mc.example.com', 65535],
    ['bücher.example', 'xn--bcher-kva.example', 25565],
    ['1.2.3.4', '1.2.3.4', 25565],
    ['1.2.3.4:80', '1.2.3.4', 80],
    ['2001:DB8:0:0::1', '2001:db8::1', 25565],
    ['[2001:db8::1]', '2001:db8::1', 25565],
    ['[2001:db8::1]:25570', '2001:db8::1', 25570],
    ['::ffff:1.2.3.4', '::ffff:1.2.3.4', 25565],
    ['::ffff:102:304', '::ffff:1.2.3.4', 25565],
  ] as const)('%s', ([text, host, port]) => {
    expect(parseServerAddress(text)).toEqual({ host, port })
  })

  test('a separate port overrides the one in the address', () => {
    expect(parseServerAddress('mc.example.com', '1234')).toEqual({
      host: 'mc.example.com',
      port: 1234,
    })
    expect(parseServerAddress('mc.example.com:99', '1234')?.port).toBe(1234)
    expect(parseServerAddress('2001:db8::1', '1234')?.port).toBe(1234)
  })
})

describe('as it was spelled', () => {
  test.for([
    ['mc.example.com', 'mc.example.com'],
    ['MC.Example.COM', 'MC.Example.COM'],
    ['MC.Example.COM.:25566', 'MC.Example.COM'],
    ['My_Server.example.com:1', 'My_Server.example.com'],
    ['Bücher.Example', 'xn--bcher-kva.Example'],
    ['XN--Bcher-KVA.example', 'XN--Bcher-KVA.example'],
    ['Mc。Example．COM', 'Mc.Example.COM'],
    ['ＭＣ.Example', 'mc.Example'],
    ['\u212aelvin.Example', 'kelvin.Example'],
    ['STRASSE.straße.Example', 'STRASSE.xn--strae-oqa.Example'],
    ['1.2.3.4:80', '1.2.3.4'],
    ['[2001:DB8:0::1]:25565', '2001:db8::1'],
    ['::FFFF:1.2.3.4', '::ffff:1.2.3.4'],
    ['LOCALHOST', 'LOCALHOST'],
  ] as const)('%s', ([typed, spelled]) => {
    expect(spelledHostOf(typed)).toBe(spelled)
    // Only the case of ASCII letters differs, so that nothing can hide in it.
    expect(spelled.toLowerCase()).toBe(parseServerAddress(typed)?.host)
  })
})

describe('invalid addresses', () => {
  test.for([
    '',
    '.',
    '-',
    ' ',
    'a b',
    'a..b',
    '-a.example',
    'a-.example',
    `${'a'.repeat(64)}.example`,
    'a.'.repeat(127) + 'aa',
    'http://example.com',
    'example.com/',
    'user@example.com',
    'example.com?x',
    'example.com#x',
    'a\r\nb',
    'a\0b',
    '127.1',
    '0x7f.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '127.0.0.1.',
    '1.2.3',
    '1.2.3.256',
    '1.2.3.4.5',
    '[::1',
    '::1]',
    '[]',
    '[1.2.3.4]',
    '[example.com]',
    '[::1]x',
    '[::1]:',
    'fe80::1%eth0',
    '[fe80::1%25eth0]',
    ':::',
    '1::2::3',
    'example.com:',
    'example.com:0',
    'example.com:65536',
    'example.com:080',
    'example.com:x',
    'example.com:-1',
    ':25565',
    'example.com:1:2',
    '１２７.0.0.1',
    '127。0。0。1',
    'a%2eb',
    '*.example.com',
    '1.2.3.4:99999',
  ])('%j', (text) => {
    expect(parseServerAddress(text)).toBeNull()
  })

  test.for(['', '0', '65536', '080', ' 80', '80 ', '+80', '8e1', '0x50', '-1', '1.5', '99999999999'])(
    'port %j',
    (port) => {
      expect(parseServerAddress('mc.example.com', port)).toBeNull()
    },
  )

  test('a port in the address must be valid, even if it is overridden', () => {
    expect(parseServerAddress('mc.example.com:x', '1234')).toBeNull()
  })
})
