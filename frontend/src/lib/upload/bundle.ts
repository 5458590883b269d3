import type { Bundle } from "@/client"
import { newKey } from "@/lib/api/key"
import { IGNORE_FILE, type LeftOut } from "./leftOut"
import { tar } from "./tar"

const MIB = 1024 * 1024
/** The server's limits: of what travels, of what it unpacks to, of its files and folders. */
export const MAX_BUNDLE_BYTES = 64 * MIB
const MAX_UNPACKED = 256 * MIB
const MAX_FILES = 10_000
const MAX_FOLDERS = 10_000
/** Folders above a file. */
const MAX_DEPTH = 64

export interface PickedFile {
  path: string
  file: File
}

/** Files that are selected and not uploaded yet. */
export interface Picked {
  files: readonly PickedFile[]
  /** Files that stay on this machine, and why. */
  leftOut: readonly LeftOut[]
  /** Input of the server's check that the job file fits: the text of the Python files, and the paths of all. */
  sources: Sources
}

export interface Sources {
  /** Stands for the texts where they are compared. */
  id: string
  texts: Record<string, string | null>
}

/** A bundle that the server has. */
export interface Code {
  hash: string
  /** Where it comes from, in words. */
  origin: string
  files: Bundle["files"]
}

/** Files picked one by one keep their names; those of a picked folder lose the folder's own name. */
export function picked(files: readonly File[]): PickedFile[] {
  return files.map((file) => ({ path: file.webkitRelativePath.split("/").slice(1).join("/") || file.name, file }))
}

/** The folders that a file lies in, from the inside out. */
function foldersOf(path: string): string[] {
  const names = path.split("/")
  return names.slice(1).map((_, at) => names.slice(0, -1 - at).join("/"))
}

/** Why these cannot be one bundle, or null. */
export function tooMuch(files: readonly PickedFile[]): string | null {
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0)
  if (files.length === 0) return "No file to upload: all selected files are left out."
  if (files.length > MAX_FILES) return `The selection has ${files.length} files; ${MAX_FILES} are allowed. List what the job does not need in ${IGNORE_FILE}.`
  const deep = files.find(({ path }) => path.split("/").length - 1 > MAX_DEPTH)
  if (deep) return `'${deep.path.slice(0, 60)}...' is nested more than ${MAX_DEPTH} folders deep. Move it up.`
  const folders = new Set(files.flatMap(({ path }) => foldersOf(path)))
  if (folders.size > MAX_FOLDERS) return `The selection has ${folders.size} folders; ${MAX_FOLDERS} are allowed. List what the job does not need in ${IGNORE_FILE}.`
  if (bytes > MAX_UNPACKED) return `The selection has ${(bytes / MIB).toFixed(0)} MiB; ${MAX_UNPACKED / MIB} MiB are allowed. Pass data as a path in workload.args instead.`
  return null
}

const MAX_TEXT = 512 * 1024
const MAX_TEXTS = 4 * MIB

/** A file that is too long for the server to read, or beyond what it reads of all, has no text. */
export async function sourcesOf(files: readonly PickedFile[]): Promise<Sources> {
  const texts: Record<string, string | null> = {}
  let left = MAX_TEXTS
  for (const { path, file } of files) {
    const read = path.endsWith(".py") && file.size <= Math.min(MAX_TEXT, left)
    texts[path] = read ? await file.text() : null
    if (read) left -= file.size
  }
  return { id: newKey(), texts }
}

/** A gzip-compressed tar file of them. */
export async function pack(files: readonly PickedFile[]): Promise<Blob> {
  const entries = await Promise.all(files.map(async ({ path, file }) => ({ path, data: new Uint8Array(await file.arrayBuffer()) })))
  const packed = new Blob([tar(entries)]).stream().pipeThrough(new CompressionStream("gzip"))
  const bundle = await new Response(packed).blob()
  if (bundle.size > MAX_BUNDLE_BYTES) throw new Error("The packed files have more than 64 MiB. Pass data as a path in workload.args instead.")
  return bundle
}
