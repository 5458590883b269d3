import { describe, expect, it } from "vitest"
import type { CatalogueEntry } from "@/client"
import { entryOf, metricGroups, quantityOf, thresholdAt } from "./metrics"

const entry = (name: string, title: string, group: string, drawn = true): CatalogueEntry => ({ name, title, group, unit: "", meaning: "", better: "neither", drawn })
const catalogue = [
  entry("train/loss", "Training loss", "Training"),
  entry("train/staleness", "Staleness", "Training"),
  entry("train/total_samples", "Total samples", "Training", false),
  entry("eval/accuracy", "Eval accuracy", "Evaluation"),
  entry("time/wait", "Wait time", "Time of a push"),
]

it("takes titles and groups from the catalogue, and makes them of a name that is not there", () => {
  const titles = ["train/loss", "eval/top5_accuracy", "comet/tail", "user/grad_norm", "user/eval/Loss/a"].map((name) => entryOf(catalogue, name)).map(({ title, group }) => `${group}: ${title}`)
  expect(titles).toEqual(["Training: Training loss", "Evaluation: Eval top5 accuracy", "Comet: Comet tail", "Logged values: grad_norm", "Logged values: eval/Loss/a"])
})

it("writes shares in percent, as the rest of the page does", () => {
  expect(["eval/accuracy", "server/busy", "push/norm"].map((name) => quantityOf({ name, unit: "1" }))).toEqual(["share", "share", "1"])
  expect([thresholdAt(0.9, "eval/accuracy").label, thresholdAt(0.5, "train/loss").label]).toEqual(["target 90 %", "target 0.5"])
})

describe("metricGroups", () => {
  const names = ["time/wait", "train/total_samples", "eval/top5", "train/staleness", "train/loss", "comet/tail", "user/b", "eval/accuracy", "user/a"]
  const short = (pinned: string[], search: string) => metricGroups(catalogue, names, pinned, search).map(({ key, names }) => [key, ...names].join(" "))

  it("puts what matters most first", () => {
    expect(short([], "")).toEqual(["train train/loss train/staleness", "user user/a user/b", "eval eval/accuracy eval/top5", "time time/wait", "comet comet/tail"])
  })

  it("shows a pinned metric once, before all others", () => {
    expect(short(["time/wait", "no/such"], "")).toEqual(["pinned time/wait", "train train/loss train/staleness", "user user/a user/b", "eval eval/accuracy eval/top5", "comet comet/tail"])
  })

  it("finds all words in names and titles", () => {
    expect(short([], "training")).toEqual(["train train/loss"])
    expect(short([], " EVAL  top")).toEqual(["eval eval/top5"])
    expect(short([], "nothing")).toEqual([])
  })
})
