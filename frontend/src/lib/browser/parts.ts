/**
 * Parts of the page that lie in files of their own, loaded when they are first shown: the server may be away then, or have been upgraded.
 *
 * Browsers remember for as long as a document lives that a module could not be fetched, so to import it again does not help. Therefore the
 * page imports only while the server can be reached.
 */

const RETRY_MS = [250, 500, 1000, 2000, 4000, 8000]
const TIMEOUT_MS = 10_000
/** A browser may leave an import pending for ever, and an import of the same part then waits with it. */
const IMPORT_TIMEOUT_MS = 20_000
const RELOADED_FOR = "gradstream.reloaded-for"
const REOPENED_AT = "gradstream.reopened-at"
/** A page that was opened anew and fails again within this time is broken, not cut off. */
const REOPEN_INTERVAL_MS = 60_000

/** Name of a page's script: each build has another. Null: it has none. */
type Version = string | null

const own = versionOf(document)
/** The document has just come from the server, which need not be asked before the first import. */
let justOpened = true

class PartTimeout extends Error {}

/**
 * The module that `load` imports. While the server cannot be reached, it waits. A server that has another version no longer has the files of this one:
 * then `reload` is called, once for each version. It is also called, once a minute at most, where the server has this version and the
 * browser does not fetch the part again, or does not end its import. Rejects if that did not help either.
 */
export async function loadPart<T>(load: () => Promise<T>, reload: () => void = () => window.location.reload()): Promise<T> {
  let failed = false
  for (let waits = 0; ; waits++) {
    if (prepared.has(load) || (await isReached())) {
      try {
        return await withTimeout((prepared.get(load) as Promise<T> | undefined) ?? load())
      } catch (error) {
        prepared.delete(load)
        failed ||= error instanceof PartTimeout
        const served = await servedVersion()
        if (served !== null && (served === own ? failed && isFirstForLong() : isFirstFor(served))) {
          reload()
          return new Promise(() => undefined) // until this document is gone
        }
        if (served !== null && failed) throw error
        failed = served !== null
      }
    }
    await new Promise((resolve) => window.setTimeout(resolve, RETRY_MS[Math.min(waits, RETRY_MS.length - 1)]))
  }
}

/** Imports that were begun before the part was wanted. */
const prepared = new WeakMap<() => Promise<unknown>, Promise<unknown>>()

/** Imports a part that will be wanted soon, if the server is there. `loadPart` with the same `load` takes it, or imports it when it is wanted. */
export async function preparePart(load: () => Promise<unknown>): Promise<void> {
  if (!(await isReached())) return
  const part = load()
  prepared.set(load, part)
  await part.catch(() => undefined)
}

async function withTimeout<T>(part: Promise<T>): Promise<T> {
  let timer = 0
  const timeout = new Promise<never>((_, reject) => {
    timer = window.setTimeout(() => reject(new PartTimeout(`The server did not send a part of the page within ${IMPORT_TIMEOUT_MS / 1000} s.`)), IMPORT_TIMEOUT_MS)
  })
  return Promise.race([part, timeout]).finally(() => window.clearTimeout(timer))
}

async function isReached(): Promise<boolean> {
  if (!justOpened) return (await servedVersion()) !== null
  justOpened = false
  return true
}

let asking: Promise<Version> | null = null

/** Null: the server cannot be reached. It is asked for the page itself, which is not a matter of the API; once for all who ask at a time. */
function servedVersion(): Promise<Version> {
  asking ??= askVersion().finally(() => (asking = null))
  return asking
}

async function askVersion(): Promise<Version> {
  try {
    const answer = await fetch("/", { headers: { Accept: "text/html" }, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) })
    return answer.ok ? versionOf(new DOMParser().parseFromString(await answer.text(), "text/html")) : null
  } catch {
    return null
  }
}

function versionOf(page: Document): Version {
  return page.querySelector("script[type=module][src]")?.getAttribute("src") ?? null
}

/** Notes it: a reload that did not help is not followed by another. */
function isFirstFor(version: string): boolean {
  return isNew(RELOADED_FOR, version, (noted) => noted === version)
}

/** Notes it, as above. */
function isFirstForLong(): boolean {
  return isNew(REOPENED_AT, String(Date.now()), (noted) => Date.now() - Number(noted) < REOPEN_INTERVAL_MS)
}

/** Stores `value` under `key`, unless what is stored there is `known`. */
function isNew(key: string, value: string, known: (noted: string) => boolean): boolean {
  try {
    const noted = sessionStorage.getItem(key)
    if (noted !== null && known(noted)) return false
    sessionStorage.setItem(key, value)
    return true
  } catch {
    return false // storage is denied: a page that cannot note it might reload for ever
  }
}
