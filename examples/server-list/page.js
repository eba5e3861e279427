import { drawDescription } from './description.js'

const list = document.querySelector('#servers')
const template = document.querySelector('#server')
const refreshMs = 15_000
const drawn = new Map()

/** Draws one server into its row, which is made once, so that nothing flickers. */
function draw(server) {
  const row =
    drawn.get(server.address) ?? list.appendChild(template.content.cloneNode(true).firstElementChild)
  drawn.set(server.address, row)
  const part = (selector) => row.querySelector(selector)
  row.dataset.state = server.state
  part('h2').textContent = [server.address, server.version].filter(Boolean).join(' · ')
  part('.description').replaceChildren(
    ...drawDescription(server.description ?? [{ text: said[server.state] }]),
  )
  part('.players').textContent = server.players ? `${server.players.online} / ${server.players.max}` : ''
  part('.ping').textContent = server.pingMs === undefined ? '' : `${server.pingMs} ms`
  const hasIcon = server.favicon?.startsWith('data:image/png;base64,') === true
  part('img').hidden = !hasIcon
  part('div.icon').hidden = hasIcon
  if (hasIcon && part('img').src !== server.favicon) part('img').src = server.favicon
}
const said = { offline: 'Offline', refused: 'This address cannot be asked', unknown: 'Asking …', online: '' }

async function refresh() {
  try {
    const response = await fetch('/servers')
    for (const server of await response.json()) draw(server)
  } catch {
    // The next time may be better. What is drawn stays.
  }
  const isAsking = [...drawn.values()].some((row) => row.dataset.state === 'unknown')
  if (document.hidden) document.addEventListener('visibilitychange', refresh, { once: true })
  else setTimeout(refresh, isAsking ? 1000 : refreshMs)
}
await refresh()
