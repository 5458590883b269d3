import { execFileSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { pack, picked, tooMuch, withoutIgnored } from "./bundle"

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

describe("withoutIgnored", () => {
  it("leaves out caches, version control and environments", async () => {
    const kept = await withoutIgnored(picked(["a/train.py", "a/.git/HEAD", "a/__pycache__/train.pyc", "a/x/.venv/bin/python", "a/.env"].map((p) => file(p))))
    expect(kept.map(({ path }) => path)).toEqual(["train.py"])
  })

  it("follows the folder's own ignore file, exceptions included", async () => {
    const files = picked([file("a/.gradstreamignore", "*.csv\n!small.csv\n"), file("a/big.csv"), file("a/small.csv"), file("a/train.py")])
    expect((await withoutIgnored(files)).map(({ path }) => path)).toEqual([".gradstreamignore", "small.csv", "train.py"])
  })
})

it("says before the upload why files cannot be a bundle", () => {
  const large = Object.assign(file("a/data.bin"), {})
  Object.defineProperty(large, "size", { value: 300 * 1024 * 1024 })
  expect(tooMuch(picked([large]))).toMatch(/300 MiB; 256/)
  expect(tooMuch([])).toMatch(/no file/)
  expect(tooMuch(picked([file("a/train.py")]))).toBe(null)
})

it("packs a tar.gz that the system's tar reads", async () => {
  const bundle = await pack(picked([file("a/train.py", "print(1)"), file("a/nets/cnn.py")]))
  const names = execFileSync("tar", ["-tzf", "-"], { input: Buffer.from(await bundle.arrayBuffer()) })
  expect(names.toString()).toBe("nets/cnn.py\ntrain.py\n")
})
