import { ESLint, Linter } from "eslint"
import ts from "typescript-eslint"
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
const brief = ({ line, message }) => `${String(line)} ${message.split(":")[0] ?? ""}`
const found = (code) => new Linter().verify(code, config).map(brief)
/** As found in a file of TypeScript. */
const foundIn = (filename, code) => {
  const typed = config.map((each) => ({ ...each, files: ["**/*.ts", "**/*.tsx"], languageOptions: { ...each.languageOptions, parser: ts.parser } }))
  return new Linter().verify(code, typed, { filename }).map(brief)
}

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

test.each(["src/lib/job.ts", "src/panels/Job.tsx"])("comments of %s are read, JSDoc and others", async (file) => {
  expect(foundIn(file, "/** What it is. */\nexport interface Job {\n  /** Of the job. */\n  name: string // nobody knows it\n}")).toEqual([
    "1 opening",
    "3 opening",
    "4 nobody",
  ])
  expect(foundIn(file, "const a: string = b\n/**\n * Two lines: it is\n * told.\n *\n * Whoever reads it.\n */\n")).toEqual(["2 told", "2 opening"])
  expect(foundIn(file, "// A sentence that goes on. That\n// Of it all, is one.\n\n// Of it.\n")).toEqual(["4 opening"])
  expect(foundIn(file, "// @ts-expect-error nobody types it\nconst a: string = b // See `What` and job.ts.\n")).toEqual([])
  expect((await new ESLint().calculateConfigForFile(file)).rules["house/prose"]).toEqual([2])
})

test("comments between elements of a page are read", () => {
  expect(foundIn("src/Page.tsx", "const a = (\n  <p>\n    {/* What it is */}\n  </p>\n)")).toEqual(["3 opening"])
})

test.each(rules.filter((rule) => rule.kinds.includes("docstring")))("the comments' rule $name finds its bad examples and no good one", (rule) => {
  for (const text of rule.bad) expect(problems(text, "docstring").map((problem) => problem.split(":")[0])).toContain(rule.name)
  for (const text of rule.good) expect(problems(text, "docstring")).toEqual([])
})

test("an exception needs a reason", () => {
  expect(found('// eslint-disable-next-line house/prose -- a quotation\nconst a = "What it is"')).toEqual([])
  expect(found("// eslint-disable-next-line house/prose -- a quotation\n// What it is")).toEqual([])
  expect(found('// eslint-disable-next-line house/prose\nconst a = "What it is"')).toEqual(["1 say why after ' -- '"])
})
