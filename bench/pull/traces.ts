// Reads the publish times of the shared data: citizen air sensors, LoRaWAN devices, an energy-harvesting node.
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

/** A file, the columns of time and device, and what a unit of its time is in milliseconds. */
const FILES = [
  { path: 'luftdaten-aberdeen/sds011-2019-04-22_05-19.csv.gz', unitMs: 1_000 },
  { path: 'campusiot-lorawan/tourperret-ems.csv.gz', unitMs: 1 },
  { path: 'campusiot-lorawan/sainteynard-wyres.csv.gz', unitMs: 1 },
  { path: 'campusiot-lorawan/helium-imst.csv.gz', unitMs: 1 },
  { path: 'qeop-eno/eno-box-3b06.csv.gz', unitMs: 1_000 },
] as const

/** The rows of a file of the shared data, without its head. */
export function readRows(folder: URL, path: string): string[][] {
  const text = gunzipSync(readFileSync(new URL(path, folder))).toString()
  const [, ...lines] = text.trimEnd().split('\n')
  return lines.map((line) => line.split(','))
}

/** Ascending publish times in milliseconds by device. */
export function readTraces(folder: URL): Map<string, number[]> {
  const traces = new Map<string, number[]>()
  for (const { path, unitMs } of FILES)
    for (const [time, device = ''] of readRows(folder, path)) {
      const trace = traces.get(device) ?? []
      traces.set(device, trace)
      trace.push(Math.round(Number(time) * unitMs))
    }
  for (const trace of traces.values()) trace.sort((a, b) => a - b)
  return traces
}
