import rules from "../../checks/prose.json" with { type: "json" }

/** The rules of `checks/prose.json` for what the page shows: strings, templates and text between tags, sentence by sentence. */
const finders = rules
  .filter((rule) => rule.kinds.includes("page"))
  .map((rule) => ({ ...rule, pattern: new RegExp(rule.pattern, "u") }))

const SENTENCE_END = /(?<=[.!?])\s+(?=[A-Z`"({*[])/u
const UNSEEN = new Set(["className", "class", "key", "id", "href", "to", "d", "type"])

export const problems = (text) =>
  text
    .replace(/\s+/gu, " ")
    .trim()
    .split(SENTENCE_END)
    .flatMap((sentence) => finders.filter((rule) => rule.pattern.test(sentence)).map((rule) => `${rule.name}: ${rule.instead}: ${sentence}`))

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
        for (const comment of context.sourceCode.getAllComments())
          if (/eslint-disable.*house\/prose(?!.* -- \w)/u.test(comment.value)) context.report({ loc: comment.loc, messageId: "reason" })
      },
    }
  },
}
