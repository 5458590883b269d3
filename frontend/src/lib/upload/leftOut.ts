/** Files of a folder that never travel: the rules of the command line, for files that were picked or dropped here. */
import ignore, { type Ignore } from "ignore"
import rules from "./bundleRules.json"

export const IGNORE_FILE = rules.IGNORE_FILE
const MARKER = ".gradstream.json"
const GITIGNORE = ".gitignore"

export interface LeftOut {
  path: string
  why: "credentials" | "listed" | "version control" | "dot file" | "output" | "cache"
  /** For a person: `listed in .gitignore`. */
  reason: string
}

interface Sized {
  path: string
  file: File
}

const CACHES = ignore().add(rules.CACHES)
const DOT_FILES = ignore().add(rules.DOT_FILES)
const CREDENTIALS = ignore().add(rules.CREDENTIALS)
const TOKENS = ignore().add(rules.TOKENS)
const CONTENTS = Object.entries(rules.CONTENTS).map(([what, pattern]) => [what, new RegExp(pattern, "m")] as const)

/** Folders of these names are not even opened. */
export function isNeverOpened(path: string): boolean {
  return CACHES.ignores(path.toLowerCase())
}

/** Parts files into those that travel and those that stay, each with its reason. */
export async function selectFiles<T extends Sized>(files: readonly T[]): Promise<{ kept: T[]; leftOut: LeftOut[] }> {
  const own = new OwnRules(await textOf(files, IGNORE_FILE))
  const git = await gitRules(files)
  const outputs = await outputsOf(files)
  const kept: T[] = []
  const leftOut: LeftOut[] = []
  for (const file of files) {
    const found = await whyNot(file, own, git, outputs)
    if (found) leftOut.push({ path: file.path, ...found })
    else kept.push(file)
  }
  return { kept, leftOut }
}

type Why = Omit<LeftOut, "path">

async function whyNot({ path, file }: Sized, own: OwnRules, git: readonly GitRules[], outputs: readonly string[]): Promise<Why | null> {
  if (own.lists(path)) return { why: "listed", reason: `listed in ${IGNORE_FILE}` }
  if (!own.names(path)) {
    const reason = await credentialIn(path, file)
    if (reason) return { why: "credentials", reason }
  }
  if (own.takes(path)) return null
  if (outputs.some((output) => path === output || (output.endsWith("/") && path.startsWith(output)))) return { why: "output", reason: "an output of Gradstream" }
  if (CACHES.ignores(path.toLowerCase())) return { why: "cache", reason: "never part of a job" }
  if (DOT_FILES.ignores(path)) return { why: "dot file", reason: "a dot file, or in a dot folder" }
  return ignoredByGit(path, git)
}

async function credentialIn(path: string, file: File): Promise<string | null> {
  const name = path.toLowerCase()
  if (CREDENTIALS.ignores(name) || (file.size <= rules.TOKEN_SIZE && TOKENS.ignores(name))) return "a credential, by its name"
  const text = await beginningOf(file)
  const found = CONTENTS.find(([, pattern]) => pattern.test(text))
  return found ? `a file with ${found[0]} in it` : null
}

/** As much of a file as is searched: more of text than of other files, which have a zero byte at their beginning. */
async function beginningOf(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.slice(0, rules.SCANNED_OF_TEXT).arrayBuffer())
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes)
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes)
  const head = bytes.subarray(0, rules.SCANNED)
  return new TextDecoder().decode(head.includes(0) ? head : bytes)
}

/** The folder's own ignore file. */
class OwnRules {
  private readonly all: Ignore
  private readonly literal: Ignore

  constructor(text: string) {
    this.all = ignore().add(text)
    const named = text.split("\n").filter((line) => line.startsWith("!") && !/[*?[]/.test(line))
    this.literal = ignore().add(named.map((line) => line.slice(1)))
  }

  lists(path: string): boolean {
    return this.all.test(path).ignored
  }

  takes(path: string): boolean {
    return this.all.test(path).unignored || this.names(path)
  }

  /** True if a `!pattern` without a wildcard takes this in. */
  names(path: string): boolean {
    return this.literal.ignores(path)
  }
}

interface GitRules {
  /** "" or a folder with "/" at its end. */
  folder: string
  rules: Ignore
}

/** The .gitignore files among the files; the browser does not see those above the folder. The deepest come first. */
async function gitRules(files: readonly Sized[]): Promise<GitRules[]> {
  const found = files.filter(({ path }) => path === GITIGNORE || path.endsWith(`/${GITIGNORE}`))
  const read = await Promise.all(found.map(async ({ path, file }) => ({ folder: path.slice(0, -GITIGNORE.length), rules: ignore().add(await file.text()) })))
  return read.sort((a, b) => b.folder.length - a.folder.length)
}

function ignoredByGit(path: string, git: readonly GitRules[]): Why | null {
  for (const { folder, rules } of git) {
    if (!path.startsWith(folder)) continue
    const { ignored, unignored } = rules.test(path.slice(folder.length))
    if (ignored) return { why: "version control", reason: `listed in ${folder}${GITIGNORE}` }
    if (unignored) return null
  }
  return null
}

/** Folders (with "/" at their end) and files that Gradstream made, by their markers. */
async function outputsOf(files: readonly Sized[]): Promise<string[]> {
  const markers = files.filter(({ path }) => path === MARKER || path.endsWith(`/${MARKER}`))
  const found = await Promise.all(
    markers.map(async ({ path, file }) => {
      const folder = path.slice(0, -MARKER.length)
      const { kind, holds } = readMarker(await file.text())
      return kind === "files" || folder === "" ? holds.map((name) => `${folder}${name}`) : kind ? [folder] : []
    }),
  )
  return found.flat()
}

function readMarker(text: string): { kind: string | null; holds: string[] } {
  try {
    const { gradstream, holds } = JSON.parse(text) as { gradstream?: unknown; holds?: unknown }
    const names = Array.isArray(holds) ? holds.filter((name): name is string => typeof name === "string" && name !== "") : []
    return { kind: typeof gradstream === "string" ? gradstream : null, holds: names }
  } catch {
    return { kind: null, holds: [] }
  }
}

async function textOf(files: readonly Sized[], path: string): Promise<string> {
  return (await files.find((file) => file.path === path)?.file.text()) ?? ""
}
