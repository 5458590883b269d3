/** Files that were dropped on the page, folders with all that is in them. */
import type { PickedFile } from "./bundle"
import { isNeverOpened } from "./leftOut"

/** Names of one folder's files begin inside it, as the bundle's do. Folders that never travel are not even opened. */
export async function dropped(items: Iterable<DataTransferItem>): Promise<PickedFile[]> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? [])
  const [only] = entries
  if (entries.length === 1 && isFolder(only!)) return walk(await listing(only), "")
  return walk(entries, "")
}

async function walk(entries: readonly FileSystemEntry[], folder: string): Promise<PickedFile[]> {
  const found = await Promise.all(entries.map((entry) => one(entry, `${folder}${entry.name}`)))
  return found.flat()
}

async function one(entry: FileSystemEntry, path: string): Promise<PickedFile[]> {
  if (!isFolder(entry)) return [{ path, file: await fileOf(entry as FileSystemFileEntry) }]
  return isNeverOpened(`${path}/`) ? [] : walk(await listing(entry), `${path}/`)
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject))
}

/** A reader hands out its entries in portions of up to 100, and an empty one at the end. */
async function listing(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader()
  const all: FileSystemEntry[] = []
  for (;;) {
    const portion = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (portion.length === 0) return all
    all.push(...portion)
  }
}
