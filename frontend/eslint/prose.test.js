import { Linter } from "eslint"
import { expect, test } from "vitest"
import rules from "../../checks/prose.json" with { type: "json" }
import { problems, prose } from "./prose.js"

const config = [
  {
    plugins: { house: { rules: { prose } } },
    rules: { "house/prose": "error" },
    languageOptions: { parserOptions: { ecmaFeatures: { jsx: true } } },
  },
]
const found = (code) => new Linter().verify(code, config).map(({ line, message }) => `${String(line)} ${message.split(":")[0] ?? ""}`)

test.each(rules.filter((rule) => rule.kinds.includes("page")))("the page's rule $name finds its bad examples and no good one", (rule) => {
  for (const text of rule.bad) expect(problems(text).map((problem) => problem.split(":")[0])).toContain(rule.name)
  for (const text of rule.good) expect(problems(text)).toEqual([])
})

test("strings, templates and text between tags are read, names of classes and modules are not", () => {
  expect(found('import x from "Of it"\nconst a = "What it is"')).toEqual(["2 opening"])
  expect(found("const a = (n) => `Of ${n} jobs`")).toEqual(["1 opening"])
  expect(found('const a = <p className="Of it" title="Of it">Fine.\nWhoever asks.</p>')).toEqual(["1 opening", "1 opening"])
  expect(found("const a = <p><b>All</b> of it</p>")).toEqual([])
  expect(found("const a = <p><b>All.</b> Of it</p>")).toEqual([])
})

test("an exception needs a reason", () => {
  expect(found('// eslint-disable-next-line house/prose -- a quotation\nconst a = "What it is"')).toEqual([])
  expect(found('// eslint-disable-next-line house/prose\nconst a = "What it is"')).toEqual(["1 say why after ' -- '"])
})
