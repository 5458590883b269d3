/** Parts of the page that lie in files of their own, loaded when they are first shown: the server may be away then, or have been upgraded. */

const RETRY_MS = [250, 500, 1000, 2000, 4000, 8000]
const PATIENCE_MS = 10_000
const RELOADED_FOR = "gradstream.reloaded-for"

/** What the script of a page is called: each build has another. Null: it has none. */
type Version = string | null

const own = versionOf(document)

/**
 * What `load` imports. As long as the server cannot be reached it is tried again and again. A server that has another version no longer has
 * the files of this one: then `reload` is called, once for each version. Rejects if the server has this version and the part cannot be had.
 */
export async function loadPart<T>(load: () => Promise<T>, reload: () => void = () => window.location.reload()): Promise<T> {
  let reached = false
  for (let failures = 0; ; failures++) {
    try {
      return await load()
    } catch (error) {
      const served = await servedVersion()
      if (served !== null && served !== own && isFirstFor(served)) {
        reload()
        return new Promise(() => undefined) // until this document is gone
      }
      if (served !== null && reached) throw error
      reached = served !== null
    }
    await new Promise((resolve) => window.setTimeout(resolve, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]))
  }
}

/** Null: the server cannot be reached. It is asked for the page itself, which is not a matter of the API. */
async function servedVersion(): Promise<Version> {
  try {
    const answer = await fetch("/", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) })
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
  try {
    if (sessionStorage.getItem(RELOADED_FOR) === version) return false
    sessionStorage.setItem(RELOADED_FOR, version)
    return true
  } catch {
    return false // storage is denied: who cannot note it might reload for ever
  }
}
