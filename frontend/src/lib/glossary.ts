import words from "./glossary.json"

export type Word = keyof typeof words

/** Definitions of words, from the glossary of the documents (`make generate`). */
export const GLOSSARY: Readonly<Record<Word, string>> = words
