// The map: buildings, access points, and a dot for every device, drawn on a canvas because there are thousands. What it
// shows can also be read beside it, as text.

const MOVE_MS = 900
const HIGHLIGHT_MS = 2500
/** How far from its access point a device is drawn at most, on the map. */
const CROWD_M = 15
/** A name of an access point may be so wide. */
const AP_NAME_M = 40
const GOLDEN_ANGLE = 2.39996
/** Names are drawn where a building is at least so wide, in pixels. */
const NAMED_FROM = 52
/** Names of access points are drawn where a metre of the map has so many pixels. */
const AP_NAMED_FROM = 2.4
const MOST_ZOOM = 12
const TOUCH = 9

export class CampusMap {
  #canvas
  #context
  #hint
  #choose
  #map = { width: 1, height: 1, buildings: [], aps: [] }
  /** By station: its access point's index, where it is drawn, and where it came from. */
  #devices = new Map()
  /** By access point: who is there, in the order in which they came. */
  #inside = []
  #counts = []
  #trail = []
  #chosen
  #building = -1
  #view = { zoom: 1, x: 0, y: 0 }
  #colours
  #isDrawing = false
  #movingUntil = 0
  #isCalm = matchMedia('(prefers-reduced-motion: reduce)')

  /** `choose` is called with a station when it is clicked. */
  constructor(canvas, hint, choose) {
    this.#canvas = canvas
    this.#context = canvas.getContext('2d')
    this.#hint = hint
    this.#choose = choose
    this.#readColours()
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.#readColours()
      this.draw()
    })
    new ResizeObserver(() => this.#resize()).observe(canvas)
    this.#listen()
  }

  /** How many devices are in each building, by its index. */
  get counts() {
    return this.#counts
  }

  /** How many devices are at some access point. */
  get present() {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  /** Starts over. */
  lay(map, rows) {
    this.#map = map
    this.#devices = new Map()
    this.#inside = map.aps.map(() => new Set())
    this.#counts = map.buildings.map(() => 0)
    this.move(rows, false)
  }

  /** Rows are [station, index of its access point or below 0, ip, at]. */
  move(rows, isNews = true) {
    const now = performance.now()
    for (const [station, ap] of rows) this.#place(station, ap, isNews ? now : 0)
    if (isNews && rows.length > 0) this.#movingUntil = now + HIGHLIGHT_MS
    this.draw()
  }

  /** Where the selected device was, as names of access points, the oldest first. */
  select(station, trail) {
    this.#chosen = station
    const indexes = new Map(this.#map.aps.map(({ name }, i) => [name, i]))
    this.#trail = trail.map(({ ap }) => indexes.get(ap)).filter((at) => at !== undefined)
    this.draw()
  }

  /** Which building stands out; -1 for none. */
  point(building) {
    this.#building = building
    const box = this.#map.buildings[building]
    if (box !== undefined && this.#view.zoom > 1) this.#centre(box.x + box.width / 2, box.y + box.height / 2)
    this.draw()
  }

  zoom(factor, at = { x: this.#canvas.clientWidth / 2, y: this.#canvas.clientHeight / 2 }) {
    const before = this.#toMap(at)
    this.#view.zoom = Math.min(MOST_ZOOM, Math.max(1, this.#view.zoom * factor))
    const after = this.#toMap(at)
    this.#view.x += before.x - after.x
    this.#view.y += before.y - after.y
    this.#clamp()
    this.draw()
  }

  showAll() {
    this.#view = { zoom: 1, x: 0, y: 0 }
    this.draw()
  }

  draw() {
    if (this.#isDrawing) return
    this.#isDrawing = true
    requestAnimationFrame((now) => {
      this.#isDrawing = false
      this.#paint(now)
      if (now < this.#movingUntil) this.draw()
    })
  }

  /** Where a device is drawn, in pixels of the canvas, and the building of its access point; undefined when it is not. */
  whereIs(station) {
    const device = this.#devices.get(station)
    if (device === undefined) return undefined
    const { building } = this.#map.aps[device.ap]
    return { ...this.#toScreen(device.to), inside: this.#map.buildings[building].name }
  }

  #place(station, ap, now) {
    const before = this.#devices.get(station)
    if (before !== undefined && before.ap === ap) return
    if (before !== undefined && before.ap >= 0) {
      this.#inside[before.ap].delete(station)
      this.#counts[this.#map.aps[before.ap].building]--
    }
    if (ap < 0) {
      this.#devices.delete(station)
      return
    }
    const to = this.#seat(ap, this.#inside[ap].size)
    this.#inside[ap].add(station)
    this.#counts[this.#map.aps[ap].building]++
    // Who was never seen before is not on the way.
    const since = before === undefined ? 0 : now
    this.#devices.set(station, { ap, from: before?.to ?? to, to, since })
  }

  /** Devices sit around their access point like seeds in a sunflower, so that none hides another. */
  #seat(ap, number) {
    const { x, y } = this.#map.aps[ap]
    // A crowd stands closer, so that it does not cover the next access point.
    const radius = CROWD_M * (1 - Math.exp((-2.5 * Math.sqrt(number + 1.4)) / CROWD_M))
    const angle = number * GOLDEN_ANGLE
    return { x: x + radius * Math.cos(angle), y: y + radius * Math.sin(angle) }
  }

  #paint(now) {
    const { clientWidth: width, clientHeight: height } = this.#canvas
    const context = this.#context
    const ratio = devicePixelRatio
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.fillStyle = this.#colours.ground
    context.fillRect(0, 0, width, height)
    const { scale, left, top } = this.#scale()
    context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * left, ratio * top)
    this.#paintBuildings(scale)
    this.#paintAps(scale)
    this.#paintTrail(scale)
    this.#paintDevices(now, scale)
    this.#paintNames(scale)
  }

  #paintBuildings(scale) {
    const context = this.#context
    const { buildings } = this.#map
    const most = Math.max(20, ...this.#counts)
    buildings.forEach(({ x, y, width, height }, i) => {
      context.beginPath()
      context.roundRect(x, y, width, height, 7)
      context.fillStyle = this.#colours.building
      context.fill()
      context.globalAlpha = Math.min(1, this.#counts[i] / most) * 0.75
      context.fillStyle = this.#colours.full
      context.fill()
      context.globalAlpha = 1
      context.lineWidth = (i === this.#building ? 3 : 1) / scale
      context.strokeStyle = i === this.#building ? this.#colours.accent : this.#colours.outline
      context.stroke()
    })
  }

  #paintAps(scale) {
    const context = this.#context
    const size = Math.min(4, 3.4 / scale)
    context.fillStyle = this.#colours.ap
    for (const { x, y } of this.#map.aps) context.fillRect(x - size / 2, y - size / 2, size, size)
  }

  /** The older, the thinner. */
  #paintTrail(scale) {
    const context = this.#context
    const points = this.#trail.map((at) => this.#map.aps[at]).filter((at) => at !== undefined)
    context.strokeStyle = this.#colours.chosen
    context.lineJoin = 'round'
    points.slice(1).forEach((to, i) => {
      const from = points[i]
      context.globalAlpha = 0.25 + (0.75 * (i + 1)) / points.length
      context.lineWidth = (1 + (2 * (i + 1)) / points.length) / scale
      context.beginPath()
      context.moveTo(from.x, from.y)
      context.lineTo(to.x, to.y)
      context.stroke()
    })
    context.globalAlpha = 1
  }

  #paintDevices(now, scale) {
    const context = this.#context
    const size = Math.max(1.15, 1.7 / scale)
    const resting = new Path2D()
    const moving = new Path2D()
    const fresh = []
    for (const [station, device] of this.#devices) {
      const age = now - device.since
      const at = this.#isCalm.matches ? device.to : along(device, age)
      const path = device.since > 0 && age < HIGHLIGHT_MS ? moving : resting
      path.moveTo(at.x + size, at.y)
      path.arc(at.x, at.y, size, 0, 7)
      if (device.since > 0 && age < MOVE_MS && !this.#isCalm.matches) fresh.push([device, at])
      if (station === this.#chosen) device.drawn = at
    }
    context.fillStyle = this.#colours.device
    context.fill(resting)
    context.fillStyle = this.#colours.moving
    context.fill(moving)
    context.strokeStyle = this.#colours.moving
    context.lineWidth = 1 / scale
    context.globalAlpha = 0.35
    context.beginPath()
    for (const [{ from }, at] of fresh) {
      context.moveTo(from.x, from.y)
      context.lineTo(at.x, at.y)
    }
    context.stroke()
    context.globalAlpha = 1
    this.#paintChosen(scale)
  }

  #paintChosen(scale) {
    const chosen = this.#devices.get(this.#chosen)
    if (chosen === undefined) return
    const context = this.#context
    const at = chosen.drawn ?? chosen.to
    context.beginPath()
    context.arc(at.x, at.y, Math.max(2.4, 5 / scale), 0, 7)
    context.fillStyle = this.#colours.chosen
    context.fill()
    context.beginPath()
    context.arc(at.x, at.y, Math.max(5, 11 / scale), 0, 7)
    context.strokeStyle = this.#colours.chosen
    context.lineWidth = 2 / scale
    context.stroke()
  }

  /** Above the building, in pixels of the screen whatever the zoom. */
  #paintNames(scale) {
    const context = this.#context
    const ratio = devicePixelRatio
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.font = '500 11px system-ui, sans-serif'
    context.textAlign = 'center'
    context.textBaseline = 'alphabetic'
    this.#map.buildings.forEach(({ name, x, y, width }, i) => {
      if (width * scale < NAMED_FROM) return
      const at = this.#toScreen({ x: x + width / 2, y })
      context.fillStyle = i === this.#building ? this.#colours.accent : this.#colours.soft
      context.fillText(cut(context, name, width * scale + 26), at.x, at.y - 4)
    })
    if (scale >= AP_NAMED_FROM) this.#paintApNames(scale)
  }

  #paintApNames(scale) {
    const context = this.#context
    context.font = '10px system-ui, sans-serif'
    context.fillStyle = this.#colours.soft
    for (const { name, x, y } of this.#map.aps) {
      const at = this.#toScreen({ x, y: y + CROWD_M })
      context.fillText(cut(context, name, AP_NAME_M * scale), at.x, at.y + 8)
    }
  }

  #scale() {
    const { clientWidth, clientHeight } = this.#canvas
    const fit = Math.min((clientWidth - 24) / this.#map.width, (clientHeight - 56) / this.#map.height)
    const scale = Math.max(0.01, fit * this.#view.zoom)
    const left = (clientWidth - this.#map.width * fit) / 2 - this.#view.x * scale
    const top = (clientHeight - this.#map.height * fit) / 2 - this.#view.y * scale
    return { scale, left, top }
  }

  #toMap({ x, y }) {
    const { scale, left, top } = this.#scale()
    return { x: (x - left) / scale, y: (y - top) / scale }
  }

  #toScreen({ x, y }) {
    const { scale, left, top } = this.#scale()
    return { x: x * scale + left, y: y * scale + top }
  }

  #centre(x, y) {
    const middle = this.#toMap({ x: this.#canvas.clientWidth / 2, y: this.#canvas.clientHeight / 2 })
    this.#view.x += x - middle.x
    this.#view.y += y - middle.y
    this.#clamp()
  }

  #clamp() {
    const room = 1 - 1 / this.#view.zoom
    this.#view.x = Math.min(this.#map.width * room, Math.max(0, this.#view.x))
    this.#view.y = Math.min(this.#map.height * room, Math.max(0, this.#view.y))
  }

  #resize() {
    this.#canvas.width = this.#canvas.clientWidth * devicePixelRatio
    this.#canvas.height = this.#canvas.clientHeight * devicePixelRatio
    this.#paint(performance.now())
  }

  #readColours() {
    const style = getComputedStyle(document.documentElement)
    const colour = (name) => style.getPropertyValue(`--${name}`).trim()
    this.#colours = {
      ground: colour('ground'),
      building: colour('building'),
      full: colour('building-full'),
      outline: colour('building-line'),
      ap: colour('ap'),
      device: colour('device'),
      moving: colour('moving'),
      chosen: colour('chosen'),
      accent: colour('accent'),
      soft: colour('soft'),
    }
  }

  #listen() {
    const canvas = this.#canvas
    let held
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault()
      this.zoom(Math.exp(-event.deltaY / 400), { x: event.offsetX, y: event.offsetY })
    })
    canvas.addEventListener('pointerdown', (event) => {
      held = { x: event.offsetX, y: event.offsetY, moved: 0 }
      canvas.setPointerCapture(event.pointerId)
    })
    canvas.addEventListener('pointermove', (event) => {
      if (held === undefined) {
        this.#tell(event)
        return
      }
      const { scale } = this.#scale()
      this.#view.x -= (event.offsetX - held.x) / scale
      this.#view.y -= (event.offsetY - held.y) / scale
      held = {
        x: event.offsetX,
        y: event.offsetY,
        moved: held.moved + Math.abs(event.movementX) + Math.abs(event.movementY),
      }
      this.#clamp()
      this.draw()
    })
    canvas.addEventListener('pointerup', (event) => {
      if (held !== undefined && held.moved < TOUCH) this.#clicked(event)
      held = undefined
    })
    canvas.addEventListener('pointercancel', () => {
      held = undefined
    })
    canvas.addEventListener('pointerleave', () => {
      this.#hint.hidden = true
    })
    canvas.addEventListener('keydown', (event) => this.#key(event))
  }

  #key(event) {
    const step = 40 / this.#scale().scale
    const keys = {
      '+': () => this.zoom(1.4),
      '=': () => this.zoom(1.4),
      '-': () => this.zoom(1 / 1.4),
      0: () => this.showAll(),
      ArrowLeft: () => this.#pan(-step, 0),
      ArrowRight: () => this.#pan(step, 0),
      ArrowUp: () => this.#pan(0, -step),
      ArrowDown: () => this.#pan(0, step),
    }
    const act =
      Object.hasOwn(keys, event.key) && !event.ctrlKey && !event.metaKey ? keys[event.key] : undefined
    if (act === undefined) return
    event.preventDefault()
    act()
  }

  #buildingAt(at) {
    return this.#map.buildings.findIndex(
      ({ x, y, width, height }) => at.x >= x && at.x <= x + width && at.y >= y && at.y <= y + height,
    )
  }

  #pan(x, y) {
    this.#view.x += x
    this.#view.y += y
    this.#clamp()
    this.draw()
  }

  #clicked({ offsetX, offsetY }) {
    let nearest
    let least = TOUCH * TOUCH
    for (const [station, { to }] of this.#devices) {
      const { x, y } = this.#toScreen(to)
      const distance = (x - offsetX) ** 2 + (y - offsetY) ** 2
      if (distance < least) {
        least = distance
        nearest = station
      }
    }
    this.#choose(nearest)
  }

  /** What is under the pointer. */
  #tell({ offsetX, offsetY }) {
    const at = this.#toMap({ x: offsetX, y: offsetY })
    const { scale } = this.#scale()
    const ap = this.#map.aps.findIndex(({ x, y }) => Math.hypot(x - at.x, y - at.y) * scale < TOUCH)
    const building = this.#buildingAt(at)
    const text =
      ap >= 0
        ? `${this.#map.aps[ap].name}: ${inWords(this.#inside[ap].size)}`
        : building >= 0
          ? `${this.#map.buildings[building].name}: ${inWords(this.#counts[building])}`
          : ''
    this.#hint.hidden = text === ''
    this.#hint.textContent = text
    this.#hint.style.transform = `translate(${Math.min(offsetX + 14, this.#canvas.clientWidth - 190)}px, ${offsetY + 16}px)`
  }
}

function inWords(count) {
  return count === 1 ? '1 device' : `${count} devices`
}

/** Where a device is on its way, slow at both ends. */
function along({ from, to, since }, age) {
  if (since === 0 || age >= MOVE_MS) return to
  const share = Math.max(0, age / MOVE_MS)
  const eased = share * share * (3 - 2 * share)
  return { x: from.x + (to.x - from.x) * eased, y: from.y + (to.y - from.y) * eased }
}

function cut(context, text, width) {
  const short = text.slice(0, 60)
  if (context.measureText(short).width <= width) return short
  let end = short.length
  while (end > 1 && context.measureText(`${short.slice(0, end)}…`).width > width) end--
  return `${short.slice(0, end)}…`
}
