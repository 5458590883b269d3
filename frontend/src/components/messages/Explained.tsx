import { Tooltip, UnstyledButton } from "@mantine/core"
import { IconInfoCircle } from "@tabler/icons-react"
import classes from "./Explained.module.css"

/** A name, and behind a mark how it is meant: for the pointer, the keyboard and those who are read to. */
export function Explained({ what, how }: { what: string; how: string }) {
  return (
    <span className={classes.explained}>
      {what}
      <Tooltip label={how}>
        <UnstyledButton className={classes.mark} aria-label={`${what}: ${how}`}>
          <IconInfoCircle size={14} aria-hidden />
        </UnstyledButton>
      </Tooltip>
    </span>
  )
}
