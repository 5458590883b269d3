import { expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { COLUMNS, DEFAULT_COLUMNS } from "./jobColumns"
import { addressOf, isCondition, isFiltered, matches, parametersOf, readView, writeView } from "./jobView"

const view = (search: string) => readView(new URLSearchParams(search))

it("reads what an address says and takes nothing that makes no sense", () => {
  const found = view("status=failed&status=moonstruck&strategy=adag&strategy=sync&user=ada&q=dig&sort=-accuracy&columns=loss,age,moon")
  expect(found).toEqual({ status: ["failed"], strategy: ["adag", "sync"], user: ["ada"], tag: [], archived: false, q: "dig", where: [], sort: "accuracy", by: null, descending: true, columns: ["loss", "age"], fields: [], group: null })
  expect(view("sort=moon")).toMatchObject({ sort: "created", descending: true, columns: DEFAULT_COLUMNS })
  expect(view("sort=loss")).toMatchObject({ sort: "loss", descending: false })
})

it("writes only what differs from the default, and what it reads again is the same", () => {
  expect(addressOf(view(""))).toBe("")
  for (const search of ["sort=created", "q=a+b&sort=-user", "status=queued&status=running&columns=age", "user=ada&user=b%26c", "tag=a+b&tag=c&archived=only", "where=lr%3E%3D0.1&where=a%3Db&by=-strategy.lr&fields=strategy.lr%2Ceval%2Faccuracy&group=gate"]) {
    expect(addressOf(view(search))).toBe(search)
    expect(view(addressOf(view(search)))).toEqual(view(search))
  }
})

it("leaves alone what others have put into the address", () => {
  const params = new URLSearchParams("x=1&status=failed")
  writeView(params, { ...view("q=line"), status: [] })
  expect(params.toString()).toBe("x=1&q=line")
})

it("knows whether the server would list a job", () => {
  const job = makeJob({ id: "abcd1234-0000", name: "Digits-1", status: "failed", strategy: "adag", user: "ada", tags: ["night", "base"] })
  for (const fits of ["", "q=DIGI", "q=abcd", "status=failed&user=ada", "strategy=sync&strategy=adag", "tag=base", "tag=base&tag=night"]) expect(matches(view(fits), job)).toBe(true)
  for (const not of ["q=abc1", "q=bcd1", "q=abd", "status=queued", "user=bob", "strategy=sync", "tag=base&tag=best", "archived=only"]) expect(matches(view(not), job)).toBe(false)
  expect(isFiltered(view("sort=loss"))).toBe(false)
  for (const filter of ["user=ada", "tag=base", "archived=only"]) expect(isFiltered(view(filter))).toBe(true)
})

it("can sort by every column that says so, and by what no column shows", () => {
  for (const { sort } of COLUMNS) if (sort) expect(view(`sort=-${sort}`).sort).toBe(sort)
  expect(view("sort=name")).toMatchObject({ sort: "name", descending: false })
})

it("knows what the server takes for a condition, and leaves it to the server which jobs fit", () => {
  for (const good of ["lr>=0.1", "eval/accuracy > 0.9", "name=", "a!=b"]) expect(isCondition(good)).toBe(true)
  for (const bad of ["lr", ">1", "", " =2"]) expect(isCondition(bad)).toBe(bad === " =2")
  expect(matches(view("where=lr>1"), makeJob({}))).toBe(false)
  expect(parametersOf(view("by=lr&sort=loss&where=a=1&q=x"))).toEqual({ q: "x", where: ["a=1"], by: "lr", descending: false })
})
