import type { ServerMod } from '../../domain/server-status.ts'
import { idText, versionText } from './clean-text.ts'
import { own } from './own-property.ts'
import { readVarInt } from './varint.ts'

const maxMods = 1000
const bitsPerUnit = 15

/** Returns the mods that Forge names in a status: in `modinfo` before 1.13, in `forgeData` since; undefined for none. */
export function parseMods(status: unknown): readonly ServerMod[] | undefined {
  const forgeData = own(status, 'forgeData')
  const packed = own(forgeData, 'd')
  const lists = [
    listed(own(forgeData, 'mods'), 'modId', 'modmarker'),
    typeof packed === 'string' ? unpacked(unpack(packed)) : [],
    listed(own(own(status, 'modinfo'), 'modList'), 'modid', 'version'),
  ]
  return lists.find(({ length }) => length > 0)
}

function listed(list: unknown, idKey: string, versionKey: string): ServerMod[] {
  if (!Array.isArray(list)) return []
  return list.slice(0, maxMods).flatMap((each) => {
    const id = idText(own(each, idKey))
    return id === '' ? [] : [{ id, version: versionText(own(each, versionKey)) }]
  })
}

/** Returns the octets that Forge packs into the units of a string, 15 bits each. The first two units are their number. */
function unpack(text: string): Buffer {
  const size = text.charCodeAt(0) | (text.charCodeAt(1) << bitsPerUnit)
  const octets = Buffer.alloc(Math.max(0, Math.min(size, Math.ceil((text.length * bitsPerUnit) / 8))))
  let bits = 0
  let bitCount = 0
  let unit = 2
  for (let index = 0; index < octets.length; index += 1) {
    if (bitCount < 8) {
      bits |= (text.charCodeAt(unit++) & 0x7fff) << bitCount
      bitCount += bitsPerUnit
    }
    octets[index] = bits & 0xff
    bits >>>= 8
    bitCount -= 8
  }
  return octets
}

/** Reads mods until the octets end: after each mod's id and version, the channels that it uses. */
function unpacked(octets: Buffer): ServerMod[] {
  const mods: ServerMod[] = []
  // A flag that says whether mods are missing, and their number.
  let offset = 3
  const count = octets.length < offset ? 0 : Math.min(octets.readUInt16BE(1), maxMods)
  const readNumber = (): number => {
    const read = readVarInt(octets, offset)
    if (read === null || read.value < 0) throw new RangeError('The octets end.')
    offset = read.end
    return read.value
  }
  const readText = (): string => {
    const size = readNumber()
    if (offset + size > octets.length) throw new RangeError('The octets end.')
    return octets.toString('utf8', offset, (offset += size))
  }
  try {
    for (let index = 0; index < count; index += 1) {
      const channelsAndFlag = readNumber()
      const id = idText(readText())
      const version = (channelsAndFlag & 1) === 1 ? '' : versionText(readText())
      if (id !== '') mods.push({ id, version })
      for (let channel = channelsAndFlag >>> 1; channel > 0; channel -= 1) {
        readText()
        readText()
        offset += 1
      }
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  return mods
}
