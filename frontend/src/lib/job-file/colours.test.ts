import { expect, it } from "vitest"
import { piecesOf } from "./colours"

const told = (line: string) => piecesOf(line).flatMap(({ text, kind }) => (kind === "plain" ? [] : [`${kind} ${text}`]))

it("tells keys, texts, values and comments of a line apart", () => {
  expect(told('workload: {entrypoint: "digits:Digits", args: {hidden: 256}} # mine')).toEqual([
    "key workload", "key entrypoint", 'text "digits:Digits"', "key args", "key hidden", "value 256", "comment # mine",
  ])
  expect(told("lr: 1e-3")).toEqual(["key lr", "value 1e-3"])
  expect(told("  every: 30s")).toEqual(["key every"])
  expect(told("never: true")).toEqual(["key never", "value true"])
  expect(told("name: a#b-2")).toEqual(["key name"])
  expect(told("url: http://x.y/1")).toEqual(["key url"])
})

it.each(["", "  ", "a: 'it''s' # c", "- {match: \"*.bias\", lr_factor: 0.5}", "x: \"open"])("loses nothing of %j", (line) => {
  expect(piecesOf(line).map(({ text }) => text).join("")).toBe(line)
})
