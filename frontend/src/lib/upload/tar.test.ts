import { execFileSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { tar, type TarEntry } from "./tar"

const bytes = (text: string) => new TextEncoder().encode(text)

/** What the system's own tar says is in it. */
function list(entries: TarEntry[]): string[] {
  return execFileSync("tar", ["-tf", "-", "--quoting-style=literal"], { input: tar(entries) }).toString().trim().split("\n")
}

describe("tar", () => {
  it("is read by the system's tar, sorted, whatever the length of the names", () => {
    const deep = `${"folder/".repeat(20)}file.py`
    const longName = `${"x".repeat(180)}.py`
    const paths = ["train.py", "data/zahlen-für-alle.txt", deep, longName]
    expect(list(paths.map((path) => ({ path, data: bytes(path) })))).toEqual([...paths].sort())
  })

  it("keeps the content, also where it fills its blocks exactly", () => {
    const data = bytes("a".repeat(1024))
    const content = execFileSync("tar", ["-xOf", "-", "b.txt"], { input: tar([{ path: "b.txt", data }, { path: "c.txt", data: bytes("c") }]) })
    expect(content.toString()).toBe("a".repeat(1024))
  })

  it("gives the same bytes for the same files in any order", () => {
    const [a, b] = [{ path: "a", data: bytes("1") }, { path: "b", data: bytes("2") }]
    expect(tar([a, b])).toEqual(tar([b, a]))
  })
})
