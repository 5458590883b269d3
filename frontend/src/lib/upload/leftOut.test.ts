import { describe, expect, it } from "vitest"
import { selectFiles } from "./leftOut"

function files(contents: Record<string, string>) {
  return Object.entries(contents).map(([path, content]) => ({ path, file: new File([content], path.split("/").at(-1)!) }))
}

async function split(contents: Record<string, string>) {
  const { kept, leftOut } = await selectFiles(files(contents))
  return { kept: kept.map(({ path }) => path).sort(), why: Object.fromEntries(leftOut.map(({ path, why }) => [path, why])) }
}

describe("selectFiles", () => {
  it("keeps credentials here, by name and by content", async () => {
    const { kept, why } = await split({
      "circle.py": "import torch", "secrets.py": "x = 1", "vocab/tokens.txt": "a", ".ssh/id_rsa": "", "Credentials.json": "{}", "a/server.key": "",
      "notes.txt": "x\n-----BEGIN OPENSSH PRIVATE KEY-----\n", "deploy.py": `KEY = "AKIA${"A".repeat(16)}"`, hub_token: "x".repeat(30),
    })
    expect(kept).toEqual(["circle.py", "secrets.py", "vocab/tokens.txt"])
    expect(new Set(Object.values(why))).toEqual(new Set(["credentials"]))
  })

  it("finds a key late in a text, in text of Windows and in a tar file", async () => {
    const key = "\n-----BEGIN PRIVATE KEY-----\n"
    const text = `\ufeff${key}`
    const utf16 = Uint16Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))
    const windows = { path: "windows.txt", file: new File([utf16], "windows.txt") }
    const { kept } = await selectFiles([...files({ "a.py": "", "late.txt": "x".repeat(70_000) + key, "a.tar": `deploy\0${key.trim()}` }), windows])
    expect(kept.map(({ path }) => path)).toEqual(["a.py"])
  })

  it("leaves out caches, dot files, and what .gitignore files list", async () => {
    const { kept, why } = await split({
      "train.py": "", ".git/HEAD": "", "__pycache__/train.pyc": "", ".bash_history": "", ".config/x": "", ".gitignore": "*.log\n/data/\n",
      "run.log": "", "data/x": "", "nets/.gitignore": "!keep.log\n", "nets/keep.log": "", "nets/other.log": "",
    })
    expect(kept).toEqual(["nets/keep.log", "train.py"])
    expect(why).toMatchObject({ ".git/HEAD": "cache", ".config/x": "dot file", "run.log": "version control", "data/x": "version control", "nets/other.log": "version control" })
  })

  it("follows the folder's own ignore file; a credential comes in by its name only", async () => {
    const own = "*.csv\n!small.csv\n!*.pem\n!.flags\n!ca.key\n"
    const { kept } = await split({ ".gradstreamignore": own, "big.csv": "", "small.csv": "", "b.pem": "", ".flags": "", "ca.key": "", "c.key": "" })
    expect(kept).toEqual([".flags", ".gradstreamignore", "ca.key", "small.csv"])
  })

  it("leaves out what Gradstream made", async () => {
    const marker = (kind: string, holds: string[]) => JSON.stringify({ gradstream: kind, format: 1, holds })
    const { kept, why } = await split({
      "circle.py": "", ".gradstream.json": marker("files", ["model.safetensors"]), "model.safetensors": "", "circle.out/.gradstream.json": marker("training", []),
      "circle.out/1/store/model": "", "mine/.gradstream.json": "no JSON", "mine/x": "",
    })
    expect(kept).toEqual(["circle.py", "mine/x"])
    expect(why["circle.out/1/store/model"]).toBe("output")
    expect(why["model.safetensors"]).toBe("output")
  })
})
