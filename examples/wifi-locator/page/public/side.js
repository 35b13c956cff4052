// What stands beside the map. Names come from the network: they are only ever text.

const SPARK_POINTS = 180

/** An element with text and attributes. */
export function element(tag, text = '', attributes = {}) {
  const one = document.createElement(tag)
  one.textContent = text
  for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value)
  return one
}

export function byId(id) {
  return document.getElementById(id)
}

export function number(value) {
  return Math.round(value).toLocaleString('en')
}

function percent(part, whole) {
  return whole === 0 ? '–' : `${((100 * part) / whole).toFixed(part === whole ? 0 : 1)} %`
}

function duration(ms) {
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`
  return `${Math.round(ms / 60_000)} min`
}

/** A time of day; another day is named. */
export function timeOfDay(at) {
  return new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
}

/** The rows of the levels, made once. */
export function layLevels(names) {
  const rows = [...names.map((name, i) => [i + 1, name]), ['worst-case', 'everything']]
  byId('levels').replaceChildren(
    ...rows.map(([level, name]) => {
      const row = element('tr', '', { id: `level-${level}`, class: level === 'worst-case' ? 'worst' : '' })
      const title = element('th', '', { scope: 'row' })
      title.append(element('b', level === 'worst-case' ? '!' : String(level), { class: 'rank' }), name)
      title.append(element('progress', '', { max: 1, value: 0, 'aria-label': `dropped by level ${level}` }))
      row.append(title, element('td', '0', { class: 'count' }), element('td', '', { class: 'packs' }))
      return row
    }),
  )
}

export function showStatus(status) {
  const { clock, speed, source, behindMs } = status
  byId('clock').textContent = timeOfDay(clock) + (speed === null || speed === 1 ? '' : ` ×${speed}`)
  byId('lines').textContent = number(source.lines)
  byId('lines').title = `${number(source.unknown)} of them not understood`
  byId('behind').textContent = behindMs === null ? '–' : duration(Math.max(0, behindMs))
  showLoss(status)
  showQueue(status.queue)
  showPrediction(status.prediction)
}

function showLoss({ dropped, packs, receipt }) {
  const { delivered, digested, gaps, published, isExact } = receipt
  byId('lost-share').textContent = percent(digested, published).replace('–', '0 %')
  const most = Math.max(1, ...dropped.map(({ count }) => count))
  for (const { level, count } of dropped) {
    const row = byId(`level-${level}`)
    if (row === null) continue
    row.querySelector('progress').value = count / most
    row.querySelector('.count').textContent = number(count)
  }
  for (const { level, count } of packs) {
    const cell = byId(`level-${level}`)?.querySelector('.packs')
    if (cell) cell.textContent = `${number(count)}×`
  }
  const line = byId('receipt')
  line.replaceChildren(
    element('b', number(delivered)),
    ' delivered + ',
    element('b', number(digested)),
    ' in digests + ',
    element('b', number(gaps)),
    ' in gaps = ',
    element('b', number(published)),
    ' published: ',
    element('span', isExact ? 'exact' : 'wrong', { class: isExact ? 'exact' : 'wrong' }),
  )
}

const fills = []

function showQueue({ fill, bound }) {
  byId('fill').value = fill
  byId('fill-text').textContent = `${Math.round(fill * bound)} of ${bound}`
  fills.push(fill)
  if (fills.length > SPARK_POINTS) fills.shift()
  drawSpark(byId('spark'))
}

function drawSpark(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas
  canvas.width = width * devicePixelRatio
  canvas.height = height * devicePixelRatio
  const context = canvas.getContext('2d')
  context.scale(devicePixelRatio, devicePixelRatio)
  const style = getComputedStyle(canvas)
  const accent = style.getPropertyValue('--accent')
  const points = fills.map((fill, i) => [
    width - ((fills.length - 1 - i) * width) / (SPARK_POINTS - 1),
    2 + (1 - Math.min(1, fill)) * (height - 4),
  ])
  context.strokeStyle = style.getPropertyValue('--line')
  context.strokeRect(0.5, 0.5, width - 1, height - 1)
  context.beginPath()
  for (const [x, y] of points) context.lineTo(x, y)
  context.strokeStyle = accent
  context.lineWidth = 1.5
  context.stroke()
  if (points.length === 0) return
  context.lineTo(points.at(-1)[0], height)
  context.lineTo(points[0][0], height)
  context.globalAlpha = 0.14
  context.fillStyle = accent
  context.fill()
}

function showPrediction({ moves, predicted, top1, top3 }) {
  byId('top1').textContent = percent(top1, predicted)
  byId('top3').textContent = percent(top3, predicted)
  byId('moves').textContent = number(predicted)
  byId('moves').title = `${number(moves)} moves, of which it had an opinion on ${number(predicted)}`
}

/** Buildings by how many are in them; `point` is called with the index of one, or -1. */
export function showBuildings(buildings, counts, pointed, point) {
  const list = byId('buildings')
  const order = buildings.map((_, i) => i).sort((a, b) => counts[b] - counts[a] || a - b)
  while (list.children.length > order.length) list.lastChild.remove()
  while (list.children.length < order.length) {
    const button = element('button', '', { type: 'button' })
    button.append(element('span'), element('span'))
    button.addEventListener('click', () => point(Number(button.dataset.index)))
    const item = element('li')
    item.append(button)
    list.append(item)
  }
  order.forEach((index, at) => {
    const button = list.children[at].firstChild
    button.dataset.index = index
    button.setAttribute('aria-pressed', String(index === pointed))
    setText(button.firstChild, buildings[index].name)
    setText(button.lastChild, number(counts[index]))
  })
}

function setText(one, text) {
  if (one.textContent !== text) one.textContent = text
}

/** What was found, each a button that calls `choose`. */
export function showFound(found, query, choose) {
  const items = found.map(({ station, ip, ap, building }) => {
    const button = element('button', '', { type: 'button', 'data-station': station })
    const name = element('code', station)
    button.append(name, element('small', ap === null ? 'left' : (building ?? ap)))
    button.title = ip ?? ''
    button.addEventListener('click', () => choose(station))
    const item = element('li')
    item.append(button)
    return item
  })
  if (items.length === 0 && query !== '')
    items.push(element('li', 'Nobody has that address.', { class: 'none' }))
  byId('found').replaceChildren(...items)
}

function placeIn(building, ap) {
  return building === null ? ap : `${building}, ${ap}`
}

export function showDevice(device) {
  byId('device').hidden = device === undefined
  if (device === undefined) return
  const { station, ap, building, ip, trail, next } = device
  byId('device-name').textContent = station
  byId('device-where').textContent =
    `${ap === null ? 'Has left' : placeIn(building, ap)}${ip === null ? '' : ` · ${ip}`}`
  byId('trail').replaceChildren(
    ...trail.toReversed().map((step) => {
      const item = element('li', '', { 'data-action': step.action })
      const where = step.building ?? step.ap
      item.append(step.action === 'left' ? `left ${where} ` : `${where} `)
      const time = timeOfDay(step.at)
      item.append(element('small', step.building === null ? time : `${time} · ${step.ap}`))
      return item
    }),
  )
  byId('next').replaceChildren(
    ...(next.length === 0 ? [element('li', 'Nothing is known yet.')] : []),
    ...next.map(({ place, share, building: there }) => {
      const item = element('li')
      const where = element('span', `${there ?? place} `)
      where.append(element('small', there === null ? '' : place))
      item.append(where, element('span', `${Math.round(100 * share)} %`))
      return item
    }),
  )
}
