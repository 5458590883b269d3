import { describe, expect, it } from "vitest"
import { formatOf, metricGroups, metricTitle } from "./metrics"

it("makes a title of a name", () => {
  expect(["train/loss", "eval/top5_accuracy", "push/sent_bytes", "train/base_distance"].map(metricTitle)).toEqual(["Training loss", "Eval top5 accuracy", "Bytes sent", "Distance to the center"])
})

it.each([["s", 0.00023, "230 µs"], ["bytes", 64_000, "64 kB"], ["updates", 33.04, "33"], ["s", NaN, "NaN"], ["bytes", Infinity, "∞"]])(
  "writes in %s the value %s as %s",
  (unit, value, text) => expect(formatOf(unit)(value)).toBe(text),
)

describe("metricGroups", () => {
  const names = ["time/wait", "train/total_samples", "train/epoch_samples", "eval/top5", "train/staleness", "train/loss", "comet/tail", "eval/accuracy"]
  const short = (pinned: string[], search: string) => metricGroups(names, pinned, search).map(({ key, names }) => [key, ...names].join(" "))

  it("puts what matters most first", () => {
    expect(short([], "")).toEqual(["train train/loss train/staleness", "eval eval/accuracy eval/top5", "time time/wait", "comet comet/tail"])
  })

  it("shows a pinned metric once, before all others", () => {
    expect(short(["time/wait", "no/such"], "")).toEqual(["pinned time/wait", "train train/loss train/staleness", "eval eval/accuracy eval/top5", "comet comet/tail"])
  })

  it("finds all words in names and titles", () => {
    expect(short([], "training")).toEqual(["train train/loss"])
    expect(short([], " EVAL  top")).toEqual(["eval eval/top5"])
    expect(short([], "nothing")).toEqual([])
  })
})
