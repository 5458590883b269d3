import { expect, it } from "vitest"
import { dropped } from "./drop"

interface Tree {
  [name: string]: Tree | string
}

/** What a browser hands out for a dropped file or folder: in portions, as it does. */
function entry(name: string, content: Tree | string): FileSystemEntry {
  if (typeof content === "string") {
    return { name, isDirectory: false, file: (done: (file: File) => void) => done(new File([content], name)) } as unknown as FileSystemEntry
  }
  const all = Object.entries(content).map(([inner, below]) => entry(inner, below))
  const createReader = () => {
    const left = [...all]
    return { readEntries: (done: (portion: FileSystemEntry[]) => void) => done(left.splice(0, 2)) }
  }
  return { name, isDirectory: true, createReader } as unknown as FileSystemEntry
}

function items(...entries: FileSystemEntry[]): DataTransferItem[] {
  return entries.map((one) => ({ webkitGetAsEntry: () => one }) as unknown as DataTransferItem)
}

const folder = { "train.py": "x", "job.yaml": "name: a", nets: { "cnn.py": "y", deep: { "er.py": "z" } }, ".git": { HEAD: "ref" }, "a.txt": "1" }

it("reads a folder with all that is in it, from inside it, and opens none that never travels", async () => {
  const found = await dropped(items(entry("mnist", folder)))
  expect(found.map(({ path }) => path).sort()).toEqual(["a.txt", "job.yaml", "nets/cnn.py", "nets/deep/er.py", "train.py"])
})

it("keeps the names of several", async () => {
  const found = await dropped(items(entry("train.py", "x"), entry("nets", { "cnn.py": "y" })))
  expect(found.map(({ path }) => path)).toEqual(["train.py", "nets/cnn.py"])
})
