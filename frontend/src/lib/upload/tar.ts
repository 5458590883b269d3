/** Writes tar files (POSIX ustar; a pax record carries a name that is longer than its fields). No owner, no time: equal files give equal bytes. */

export interface TarEntry {
  /** With `/` between its parts. */
  path: string
  data: Uint8Array
}

const BLOCK = 512
const encoder = new TextEncoder()

export function tar(entries: readonly TarEntry[]): Uint8Array<ArrayBuffer> {
  const parts = [...entries].sort((a, b) => (a.path < b.path ? -1 : 1)).flatMap(({ path, data }) => [...headers(path, data.length), padded(data)])
  const end = new Uint8Array(2 * BLOCK)
  return concat([...parts, end])
}

function headers(path: string, size: number): Uint8Array[] {
  const fields = split(path)
  if (fields) return [header(...fields, size, "0")]
  const record = pax("path", path)
  return [header("pax", "", record.length, "x"), padded(record), header(path.slice(-50).replace(/[^\x20-\x7e]/g, "_"), "", size, "0")]
}

/** The name and prefix fields of a path, or null where they do not hold it. */
function split(path: string): [name: string, prefix: string] | null {
  if (!/^[\x20-\x7e]+$/.test(path)) return null
  if (path.length <= 100) return [path, ""]
  const slash = path.indexOf("/", path.length - 101)
  return slash > 0 && slash <= 155 ? [path.slice(slash + 1), path.slice(0, slash)] : null
}

function header(name: string, prefix: string, size: number, type: string): Uint8Array {
  const block = new Uint8Array(BLOCK)
  const put = (offset: number, text: string) => block.set(encoder.encode(text), offset)
  put(0, name)
  put(100, "0000644\0" + "0000000\0" + "0000000\0")
  put(124, `${size.toString(8).padStart(11, "0")}\0` + "00000000000\0")
  put(148, " ".repeat(8))
  put(156, type)
  put(257, "ustar\0" + "00")
  put(345, prefix)
  const sum = block.reduce((total, byte) => total + byte, 0)
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `)
  return block
}

/** "<length> key=value\n", where the length counts itself. */
function pax(key: string, value: string): Uint8Array {
  const rest = encoder.encode(` ${key}=${value}\n`)
  let length = rest.length
  while (rest.length + String(length).length !== length) length = rest.length + String(length).length
  return concat([encoder.encode(String(length)), rest])
}

function padded(data: Uint8Array): Uint8Array {
  const whole = new Uint8Array(Math.ceil(data.length / BLOCK) * BLOCK)
  whole.set(data)
  return whole
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((total, part) => total + part.length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}
