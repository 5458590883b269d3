import { describe, expect, it } from "vitest"
import { toLogLines } from "./logs"
import { makeLog } from "./testing"

const read = (...chunks: ReturnType<typeof makeLog>[]) => toLogLines(chunks).map(({ label, text }) => `${label}: ${text}`)
const other = { process_id: "worker-1", label: "worker-1" }

describe("toLogLines", () => {
  it("puts a line together that came in parts, also when another process spoke in between", () => {
    expect(read(makeLog(1, { text: "epoch " }), makeLog(2, { ...other, text: "hello\n" }), makeLog(3, { text: "1 of 3\ndone" }))).toEqual([
      "worker-0: epoch 1 of 3",
      "worker-1: hello",
      "worker-0: done",
    ])
  })

  it("keeps empty lines but makes none of a chunk that ends with its line", () => {
    expect(read(makeLog(1, { text: "a\n\nb\n" }), makeLog(2, { text: "c\n" }))).toEqual(["worker-0: a", "worker-0: ", "worker-0: b", "worker-0: c"])
  })

  it("shows the last picture of a progress bar", () => {
    expect(read(makeLog(1, { text: "10%\r50%\r" }), makeLog(2, { text: "100%\r\nnext\n" }))).toEqual(["worker-0: 100%", "worker-0: next"])
  })
})
