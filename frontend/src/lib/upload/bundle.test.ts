import { execFileSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { pack, picked, sourcesOf, tooMuch } from "./bundle"

function file(path: string, content = "x"): File {
  return Object.assign(new File([content], path.split("/").at(-1)!), { webkitRelativePath: path })
}

describe("picked", () => {
  it("drops the name of a picked folder, but not the folders in it", () => {
    const inFolder = picked([file("mnist/train.py"), file("mnist/nets/cnn.py")])
    expect(inFolder.map(({ path }) => path)).toEqual(["train.py", "nets/cnn.py"])
  })

  it("keeps names of single files", () => {
    expect(picked([Object.assign(new File(["x"], "digits.py"), { webkitRelativePath: "" })])[0]!.path).toBe("digits.py")
  })
})

it("says before the upload why files cannot be a bundle", () => {
  const large = Object.assign(file("a/data.bin"), {})
  Object.defineProperty(large, "size", { value: 300 * 1024 * 1024 })
  expect(tooMuch(picked([large]))).toMatch(/300 MiB; 256/)
  expect(tooMuch([])).toMatch(/No file/)
  expect(tooMuch(picked([file("a/train.py")]))).toBe(null)
})

it("says so of folders, too many or too deep", () => {
  const above = (depth: number) => picked([file(`a/${"b/".repeat(depth)}f`)])
  expect(tooMuch(above(64))).toBe(null)
  expect(tooMuch(above(65))).toMatch(/more than 64 folders/)
  const apart = (count: number) => picked(Array.from({ length: count }, (_, at) => file(`a/${at}/b/f`)))
  expect(tooMuch(apart(5000))).toBe(null)
  expect(tooMuch(apart(5001))).toMatch(/10002 folders; 10000/)
})

it("packs a tar.gz that the system's tar reads", async () => {
  const bundle = await pack(picked([file("a/train.py", "print(1)"), file("a/nets/cnn.py")]))
  const names = execFileSync("tar", ["-tzf", "-"], { input: Buffer.from(await bundle.arrayBuffer()) })
  expect(names.toString()).toBe("nets/cnn.py\ntrain.py\n")
})

it("gives the text of Python files alone, up to a size", async () => {
  const { texts } = await sourcesOf(picked([file("a/train.py", "x = 1"), file("a/big.py", "#".repeat(600 * 1024)), file("a/data.csv", "1,2")]))
  expect(texts).toEqual({ "train.py": "x = 1", "big.py": null, "data.csv": null })
})
