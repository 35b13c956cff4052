// The page: listens to the server's events, moves the map, and keeps what stands beside it.
import { CampusMap } from './map.js'
import { byId, layLevels, number, showBuildings, showDevice, showFound, showStatus } from './side.js'

const BUILDINGS_EVERY_MS = 1_000
const FIND_AFTER_MS = 150

let buildings = []
let pointed = -1
let chosen
let searching = 0
let asked = 0

const map = new CampusMap(byId('map'), byId('hint'), (station) => void choose(station))
// For those who look from outside, like tests.
globalThis.locatorMap = map

const events = new EventSource('/events')
events.addEventListener('open', () => live('live', 'live'))
events.addEventListener('error', () => live('lost', 'connection lost, trying again'))
events.addEventListener('whole', ({ data }) => {
  const { isGenerated, levels, map: ground, devices, status } = JSON.parse(data)
  buildings = ground.buildings
  byId('generated').hidden = !isGenerated
  document.title = `${isGenerated ? 'Generated campus' : 'Wi-Fi locator'} · Spillway`
  map.lay(ground, devices)
  layLevels(levels)
  show(status)
  listBuildings()
  if (chosen !== undefined) void choose(chosen)
})
events.addEventListener('changes', ({ data }) => {
  const { devices, status } = JSON.parse(data)
  map.move(devices)
  show(status)
  if (devices.some(([station]) => station === chosen)) void choose(chosen)
})

function live(state, text) {
  byId('live').dataset.state = state
  byId('live').textContent = text
}

function show(status) {
  showStatus(status)
  byId('device-count').textContent = number(map.present)
}

/** Not with every change: who reads the list, or tabs through it, wants it to stand still. */
function listBuildings() {
  showBuildings(buildings, map.counts, pointed, (index) => {
    pointed = index === pointed ? -1 : index
    map.point(pointed)
    listBuildings()
  })
  byId('map').setAttribute(
    'aria-label',
    `Map: ${number(map.present)} devices in ${buildings.length} buildings. The list of buildings has the numbers.`,
  )
}
setInterval(() => {
  if (!byId('buildings').matches(':hover, :focus-within')) listBuildings()
}, BUILDINGS_EVERY_MS)

/** The device whose trail is shown; undefined for none. */
async function choose(station) {
  chosen = station
  const request = ++asked
  const answer =
    station === undefined ? undefined : await fetch(`/device?station=${encodeURIComponent(station)}`)
  const device = answer?.ok ? await answer.json() : undefined
  if (request !== asked) return
  showDevice(device)
  map.select(device?.station, device?.trail ?? [])
}

byId('find').addEventListener('input', () => {
  clearTimeout(searching)
  searching = setTimeout(async () => {
    const query = byId('find').value.trim()
    const found = query === '' ? [] : await (await fetch(`/find?q=${encodeURIComponent(query)}`)).json()
    if (query !== byId('find').value.trim()) return
    if (found.length === 1) {
      showFound([], '')
      void choose(found[0].station)
      return
    }
    showFound(found, query, (station) => {
      byId('found').replaceChildren()
      void choose(station)
    })
  }, FIND_AFTER_MS)
})
byId('device-close').addEventListener('click', () => void choose(undefined))
byId('zoom-in').addEventListener('click', () => map.zoom(1.5))
byId('zoom-out').addEventListener('click', () => map.zoom(1 / 1.5))
byId('zoom-all').addEventListener('click', () => map.showAll())
