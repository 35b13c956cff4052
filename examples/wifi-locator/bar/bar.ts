// The location bar: a line of HTML that says which building a browser is in, and where in a page it goes.
import type { Place } from './places.ts'

/** Of a page, as far as its body may begin: one that begins later stays as it is. */
export const HEAD_BYTES = 65_536
const MAX_SHOWN = 80

/** The bar. Names come from the network: they are escaped, and written in ASCII, which every page's charset has. */
export function barOf(place: Place | undefined, note = ''): string {
  const where =
    place === undefined
      ? 'Spillway does not know yet where you are'
      : `You are in <b>${shown(place.building ?? place.ap)}</b>${place.building === null ? '' : `, near ${shown(place.ap)}`}`
  const hint = note === '' ? '' : ` <small>${shown(note)}</small>`
  return (
    '<div role="status" style="all:initial;display:block;box-sizing:border-box;width:100%;padding:6px 12px;' +
    'font:14px/20px system-ui,sans-serif;color:#fff;background:#0b5cad">' +
    `${where}${hint}</div>`
  )
}

/** As HTML text of ASCII, cut where it is long. */
export function shown(text: string): string {
  const characters = [...text]
  const cut = characters.length > MAX_SHOWN ? [...characters.slice(0, MAX_SHOWN), '…'] : characters
  return cut.map((one) => (/[A-Za-z0-9 .,_:()/-]/.test(one) ? one : `&#${one.codePointAt(0)};`)).join('')
}

/** What may stand before the body and is no part of it: an opening tag in there opens nothing. */
const HEAD_PARTS =
  /<!--[\s\S]*?(?:-->|$)|<(script|style|title|noscript)\b[\s\S]*?(?:<\/\1\s*>|$)|<body\b(?:"[^"]*"|'[^']*'|[^'">])*>|<\/head\s*>|<!doctype[^>]*>/gi

/**
 * Where in the beginning of a page the bar goes: after `<body …>`, or where a page leaves that out, after `</head>` or the
 * doctype. Undefined when the rest has to be seen first; `isAll` says that there is no rest.
 */
export function placeForBar(head: string, isAll: boolean): number | undefined {
  let fallback = 0
  for (const { 0: part, index } of head.matchAll(HEAD_PARTS)) {
    const end = index + part.length
    if (/^<body\b/i.test(part)) return end
    if (/^<\/head|^<!doctype/i.test(part)) fallback = end
  }
  return isAll ? fallback : undefined
}

/** Charsets in which ASCII is not written as ASCII. */
const NOT_ASCII = /charset\s*=\s*"?\s*(utf-?(?:16|32)|ucs-?[24]|iso-10646|utf-?7|ebcdic|cp037|ibm)/i

/** Whether a bar may go into this answer. */
export function takesBar(
  method: string | undefined,
  status: number,
  headers: Record<string, unknown>,
): boolean {
  const type = String(headers['content-type'] ?? '')
  const encoding = String(headers['content-encoding'] ?? 'identity')
  return (
    method === 'GET' &&
    status !== 204 &&
    status !== 206 &&
    status !== 304 &&
    /^\s*text\/html\s*(;|$)/i.test(type) &&
    !NOT_ASCII.test(type) &&
    encoding.trim().toLowerCase() === 'identity' &&
    !/attachment/i.test(String(headers['content-disposition'] ?? ''))
  )
}
