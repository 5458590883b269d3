import { Tooltip, UnstyledButton } from "@mantine/core"
import type { ReactNode } from "react"
import { GLOSSARY, type Word } from "@/lib/glossary"
import classes from "./Term.module.css"

/** Text with a word of the glossary, whose definition shows for a pointer, a finger and the keyboard. */
export function Term({ word, children }: { word: Word; children: ReactNode }) {
  return (
    <Tooltip label={GLOSSARY[word]}>
      <UnstyledButton className={classes.term}>{children}</UnstyledButton>
    </Tooltip>
  )
}
