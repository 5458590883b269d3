import ignore from "ignore"
import { tar } from "./tar"

export const MAX_BUNDLE_BYTES = 64 * 1024 * 1024
const IGNORE_FILE = ".gradstreamignore"
/** The same defaults as `gradstream submit`. */
const IGNORED = [
  ".git/", ".hg/", ".svn/", "__pycache__/", "*.py[co]", ".venv/", "venv/", "node_modules/", "*.egg-info/", ".mypy_cache/",
  ".ruff_cache/", ".pytest_cache/", ".ipynb_checkpoints/", ".idea/", ".vscode/", ".DS_Store", ".env",
]

export interface PickedFile {
  path: string
  file: File
}

/** Files picked one by one keep their names; those of a picked folder lose the folder's own name. */
export function picked(files: readonly File[]): PickedFile[] {
  return files.map((file) => ({ path: file.webkitRelativePath.split("/").slice(1).join("/") || file.name, file }))
}

/** Leaves out what cannot matter to a job, and what the folder's own ignore file names. */
export async function withoutIgnored(files: readonly PickedFile[]): Promise<PickedFile[]> {
  const own = await files.find(({ path }) => path === IGNORE_FILE)?.file.text()
  const rules = ignore().add(IGNORED).add(own ?? "")
  return files.filter(({ path }) => !rules.ignores(path))
}

/** A gzip-compressed tar file of them. */
export async function pack(files: readonly PickedFile[]): Promise<Blob> {
  const entries = await Promise.all(files.map(async ({ path, file }) => ({ path, data: new Uint8Array(await file.arrayBuffer()) })))
  const packed = new Blob([tar(entries)]).stream().pipeThrough(new CompressionStream("gzip"))
  const bundle = await new Response(packed).blob()
  if (bundle.size > MAX_BUNDLE_BYTES) throw new Error("The packed files have more than 64 MiB. Give data as a path in workload.args instead.")
  return bundle
}
