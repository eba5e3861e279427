const types = ['A', 'AAAA', 'MX', 'NS', 'PTR', 'CNAME', 'SOA', 'TXT', 'SRV', 'CAA', 'DS', 'DNSKEY']
const intervalSeconds = 10
const find = (selector) => document.querySelector(selector)
const form = find('form')
const outcome = find('#outcome')

find('select').append(...types.map((type) => new Option(type)))

/** One row for each location, made once. */
const rows = (await (await fetch('/locations')).json()).map(({ location, provider }) => {
  const element = find('template').content.cloneNode(true).firstElementChild
  element.querySelector('.location').textContent = location
  element.querySelector('.provider').textContent = provider
  find('tbody').append(element)
  return { element, differs: false, keptUntil: null }
})

/** What zones and resolvers say is only ever set as text. */
function draw({ element }, tone, answer = '', time = '') {
  element.dataset.tone = tone
  element.querySelector('.answer').textContent = answer
  element.querySelector('.time').textContent = time
}

const tones = { arrived: 'good', agree: 'good', nowhere: 'bad', not_yet: 'waiting', unanswered: 'bad' }
const words = {
  NODATA: 'no such record',
  NXDOMAIN: 'no such name',
  TIMEOUT: 'no answer in time',
  UNREACHABLE: 'not reachable',
}

function drawAnswer({ index, result, texts, verdict, longestTtlSeconds }) {
  const row = rows[index]
  row.differs = verdict === 'not_yet'
  row.keptUntil = longestTtlSeconds === null ? null : Date.now() + longestTtlSeconds * 1000
  draw(
    row,
    tones[verdict],
    texts.join('\n') || (words[result.status] ?? result.status),
    `${result.latency_ms} ms`,
  )
}

/** Says how all answers compare. */
function drawVerdict({ verdict, all, differing, unanswered, groups, blocking = [] }) {
  const answered = all - unanswered
  const sentences = {
    arrived: `Arrived: ${answered} of ${all} ${haveOrHas(answered)} what is expected.`,
    partly: `Partly: ${answered - differing} of ${answered} ${haveOrHas(answered - differing)} what is expected.`,
    not_yet: `Not yet: none of ${answered} has what is expected.`,
    agree: `${answered} of ${all} answered, and all say the same.`,
    nowhere: `${answered} of ${all} answered, and all say that there is no such record.`,
    differ: `They differ: ${groups} different answers.`,
    not_everywhere: 'Some have the record, others do not.',
    unanswered: 'Nobody answered.',
  }
  // Whoever differs is to be seen in the rows.
  const waiting = verdict === 'partly' && differing === 0 ? ` Waiting for ${blocking.join(', ')}.` : ''
  find('#verdict').textContent = sentences[verdict] + waiting
  outcome.dataset.tone = tones[verdict] ?? 'waiting'
}
const haveOrHas = (count) => (count === 1 ? 'has' : 'have')

/** Counts down, once a second, to the time when nobody may keep an old answer any more. */
function drawTimes() {
  const secondsUntil = (time) => Math.max(0, Math.ceil((time - Date.now()) / 1000))
  for (const { element, keptUntil } of rows)
    element.querySelector('.kept').textContent = keptUntil === null ? '' : clock(secondsUntil(keptUntil))
  const ofRows = rows.map(({ differs, keptUntil }) => (differs ? keptUntil : null) ?? 0)
  const latest = Math.max(oldUntil, ...ofRows)
  const time = new Date(latest).toLocaleTimeString([], { hour12: false })
  find('#countdown').textContent =
    latest === 0
      ? ''
      : `At the latest at ${time}, in ${clock(secondsUntil(latest))}, once the zone has changed.`
  find('#next').textContent =
    nextCheckAt === null ? '' : `The next check is in ${secondsUntil(nextCheckAt)} s.`
}
const clock = (seconds) => {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return (parts[0] > 0 ? parts : parts.slice(1))
    .map((part, at) => (at > 0 ? String(part).padStart(2, '0') : part))
    .join(':')
}

/** When the last old answer that was seen has expired. */
let oldUntil = 0
let nextCheckAt = null
let timer
let running

/** Asks all locations once, and again while what is expected has not arrived. */
async function check(question) {
  running?.abort()
  clearTimeout(timer)
  const { signal } = (running = new AbortController())
  nextCheckAt = null
  try {
    const response = await fetch(`/check?${question}`, { signal })
    if (!response.ok) throw new Error((await response.json()).message)
    let verdict
    for await (const line of linesOf(response.body)) {
      if (line.result !== undefined) drawAnswer(line)
      else drawVerdict(line)
      verdict = line.verdict
      // What has been seen of old answers, for the next check.
      if (line.oldCopies !== undefined) {
        question.set('oldCopies', JSON.stringify(line.oldCopies))
        oldUntil = line.longestTtlSeconds === null ? 0 : Date.now() + line.longestTtlSeconds * 1000
      }
      drawTimes()
    }
    if (question.getAll('expect').join('').trim() === '' || verdict === 'arrived') return
  } catch (error) {
    if (signal.aborted) return
    for (const row of rows) if (row.element.dataset.tone === 'asking') draw(row, '')
    outcome.dataset.tone = 'bad'
    find('#verdict').textContent =
      error instanceof TypeError ? 'The server of this page cannot be reached.' : error.message
    if (!(error instanceof TypeError)) return
  }
  nextCheckAt = Date.now() + intervalSeconds * 1000
  timer = setTimeout(whenSeen, intervalSeconds * 1000, () => check(question))
  drawTimes()
}

function whenSeen(action) {
  if (!document.hidden) action()
  else document.addEventListener('visibilitychange', () => whenSeen(action), { once: true })
}

async function* linesOf(body) {
  let rest = ''
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split('\n')
    rest = lines.pop()
    yield* lines.map((line) => JSON.parse(line))
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  const { name, type, expect } = Object.fromEntries(new FormData(form))
  const question = new URLSearchParams({ name, type })
  for (const line of expect.split('\n')) question.append('expect', line)
  oldUntil = 0
  for (const row of rows) {
    Object.assign(row, { differs: false, keptUntil: null })
    draw(row, 'asking', 'asking')
  }
  outcome.hidden = false
  outcome.dataset.tone = 'asking'
  find('#verdict').textContent = 'Asking …'
  void check(question)
  drawTimes()
})
setInterval(drawTimes, 1000)
document.documentElement.dataset.ready = ''
