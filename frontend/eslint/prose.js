import rules from "../../checks/prose.json" with { type: "json" }

/**
 * The rules of `checks/prose.json`, sentence by sentence, for two kinds of text: what the page shows (strings, templates, text between
 * tags), and comments, by the rules of Python's docstrings.
 */
const findersOf = (kind) =>
  rules.filter((rule) => rule.kinds.includes(kind)).map((rule) => ({ ...rule, pattern: new RegExp(rule.pattern, "u") }))
const FINDERS = { page: findersOf("page"), docstring: findersOf("docstring") }

const SENTENCE_END = /(?<=[.!?])\s+(?=[A-Z`"({*[])/u
const DIRECTIVE = /^\/?\s*(?:eslint|@ts-|@vitest-|<reference)/u
const UNSEEN = new Set(["className", "class", "key", "id", "href", "to", "d", "type"])

export const problems = (text, kind = "page") =>
  text
    .replace(/\s+/gu, " ")
    .trim()
    .split(SENTENCE_END)
    .flatMap((sentence) =>
      FINDERS[kind].filter((rule) => rule.pattern.test(sentence)).map((rule) => `${rule.name}: ${rule.instead}: ${sentence}`),
    )

/** Comments as texts with their place: lines of `//` below one another are one text, stars at the beginning of a line are left out. */
const commentTexts = (comments) => {
  const texts = []
  for (const comment of comments.filter(({ value }) => !DIRECTIVE.test(value.trim()))) {
    const last = texts.at(-1)
    const below = comment.loc.start.line - 1 === last?.endLine && comment.loc.start.column === last.loc.start.column
    const continued = below && last.type === "Line" && comment.type === "Line"
    const before = continued ? texts.pop() : { loc: comment.loc, text: "" }
    const text = `${before.text} ${comment.value.replace(/^[ \t]*\*/gmu, " ")}`
    texts.push({ ...before, type: comment.type, endLine: comment.loc.end.line, text })
  }
  return texts
}

const isUnseen = (node) =>
  (node.parent.type === "JSXAttribute" && UNSEEN.has(node.parent.name.name)) ||
  ["ImportDeclaration", "ExportNamedDeclaration", "ExportAllDeclaration", "TSLiteralType"].includes(node.parent.type)

/** Text after another element continues its sentence. */
const continues = (node) => node.parent.children?.slice(0, node.parent.children.indexOf(node)).some((before) => before.type !== "JSXText")

export const prose = {
  meta: { type: "suggestion", schema: [], messages: { prose: "{{problem}}", reason: "say why after ' -- '" } },
  create: (context) => {
    const check = (node, text) => {
      for (const problem of problems(text)) context.report({ node, messageId: "prose", data: { problem } })
    }
    return {
      Literal: (node) => typeof node.value === "string" && !isUnseen(node) && check(node, node.value),
      TemplateLiteral: (node) => !isUnseen(node) && check(node, node.quasis.map((quasi) => quasi.value.cooked).join("{}")),
      JSXText: (node) => check(node, continues(node) ? `… ${node.value}` : node.value),
      "Program:exit": () => {
        const comments = context.sourceCode.getAllComments()
        for (const comment of comments)
          if (/eslint-disable.*house\/prose(?!.* -- \w)/u.test(comment.value)) context.report({ loc: comment.loc, messageId: "reason" })
        for (const { loc, text } of commentTexts(comments))
          for (const problem of problems(text, "docstring")) context.report({ loc, messageId: "prose", data: { problem } })
      },
    }
  },
}
