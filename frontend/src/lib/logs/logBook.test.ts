import { expect, test } from "vitest"
import { makeLog } from "@/lib/testing"
import { LogBook, levelOf } from "./logBook"
import { isFiltered, matcher, type LogFilter } from "./logFilter"

const texts = (book: LogBook) => book.lines.map(({ text }) => text)
const ANY: LogFilter = { role: null, rank: null, level: null, text: "", regex: false }

test("lines are put together from parts, process by process", () => {
  const book = new LogBook([
    makeLog(1, { text: "one\ntw" }),
    makeLog(2, { text: "other\n", process_id: "worker-1", label: "worker-1" }),
    makeLog(3, { text: "o\n" }),
  ])
  expect(book.lines.map(({ label, text }) => `${label} ${text}`)).toEqual(["worker-0 one", "worker-0 two", "worker-1 other"])
})

test("what is added later goes on where the book ended, and repeats are nothing", () => {
  const book = new LogBook([makeLog(1, { text: "half a " })])
  expect(texts(book)).toEqual(["half a "])
  expect(book.append([makeLog(1, { text: "half a " }), makeLog(2, { text: "line\nnext\n" })])).toBe(true)
  expect(texts(book)).toEqual(["half a line", "next"])
  expect(book.append([makeLog(2)])).toBe(false)
})

test("of a repainted line the last picture stays, also over chunks", () => {
  const book = new LogBook([makeLog(1, { text: " 10%\r 50%\r" }), makeLog(2, { text: " 90%\r\ndone\r\n" })])
  expect(texts(book)).toEqual([" 90%", "done"])
})

test("empty lines stay", () => {
  expect(texts(new LogBook([makeLog(1, { text: "a\n\nb\n" })]))).toEqual(["a", "", "b"])
})

test.each([
  ["2026-01-10 12:00:00 WARNING loader: slow", "warning"],
  ["[ERROR] no", "error"],
  ['{"event": "x", "level": "info"}', "info"],
  ["error: it is over", "error"],
  ["/x.py:3: UserWarning: deprecated", "warning"],
  ["a line about an error that is none", null],
  ["CRITICAL failure", "error"],
])("%s tells its level", (text, level) => {
  expect(levelOf(text)).toBe(level)
})

test("a traceback is an error to its last line, and only in its process", () => {
  const book = new LogBook([
    makeLog(1, { text: "Traceback (most recent call last):\n  File x\n" }),
    makeLog(2, { text: "calm\n", process_id: "worker-1", label: "worker-1" }),
    makeLog(3, { text: "    raise y\nValueError: no\nafter\n" }),
  ])
  expect(book.lines.map(({ text, level }) => [text.trim(), level])).toEqual([
    ["Traceback (most recent call last):", "error"], ["File x", "error"], ["calm", null], ["raise y", "error"], ["ValueError: no", "error"], ["after", null],
  ])
})

test("filters are all of role, rank, least level and text", () => {
  const book = new LogBook([
    makeLog(1, { text: "INFO Begin\nERROR Broken 17\nplain\n" }),
    makeLog(2, { text: "WARNING shard\n", process_id: "server-0", label: "server-0" }),
    makeLog(3, { text: "score\n", process_id: "evaluator", label: "evaluator" }),
  ])
  const shown = (over: Partial<LogFilter>) => book.lines.filter(matcher({ ...ANY, ...over }).fits).map(({ text }) => text)
  expect(shown({})).toHaveLength(5)
  expect(shown({ role: "worker", rank: 0 })).toHaveLength(3)
  expect(shown({ rank: 0 })).toHaveLength(4)
  expect(shown({ role: "evaluator" })).toEqual(["score"])
  expect(shown({ level: "warning" })).toEqual(["ERROR Broken 17", "WARNING shard"])
  expect(shown({ text: "broken" })).toEqual(["ERROR Broken 17"])
  expect(shown({ text: "\\d{2}$", regex: true })).toEqual(["ERROR Broken 17"])
  expect(isFiltered(ANY)).toBe(false)
})

test("a pattern that is none says so and hides nothing", () => {
  const { fits, error } = matcher({ ...ANY, text: "(", regex: true })
  expect(error).toMatch(/parenthesis|group/i)
  expect(fits(new LogBook([makeLog(1)]).lines[0]!)).toBe(true)
})

test("a hundred thousand lines are added in portions at a cost that does not grow", () => {
  const book = new LogBook()
  for (let seq = 1; seq <= 1000; seq++) book.append([makeLog(seq, { text: "step\n".repeat(100) })])
  expect(book.lines).toHaveLength(100_000)
  expect(new Set(book.lines.map(({ key }) => key)).size).toBe(100_000)
})
