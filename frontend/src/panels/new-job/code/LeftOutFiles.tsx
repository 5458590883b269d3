import { List, Text, UnstyledButton } from "@mantine/core"
import { useState } from "react"
import { IGNORE_FILE, type LeftOut } from "@/lib/upload/leftOut"
import classes from "./DropArea.module.css"

const FILES_SHOWN = 5

/** Files that stay on this machine, by name; credentials first, caches not at all. */
export function LeftOutFiles({ leftOut }: { leftOut: readonly LeftOut[] }) {
  const [all, setAll] = useState(false)
  const told = leftOut.filter(({ why }) => why !== "cache").sort((a, b) => Number(b.why === "credentials") - Number(a.why === "credentials"))
  if (told.length === 0) return null
  const shown = all ? told : told.slice(0, FILES_SHOWN)
  return (
    <div data-testid="left-out">
      <Text size="sm" mt="sm">
        Left out: {told.length === 1 ? "1 file" : `${told.length} files`}. To include one, add a line <code>!name</code> to {IGNORE_FILE}.
      </Text>
      <List size="xs" mt={6} spacing={2} c="dimmed" className={classes.files}>
        {shown.map(({ path, reason, why }) => (
          <List.Item key={path} c={why === "credentials" ? "var(--gs-wait)" : undefined}>
            {path}: {reason}
          </List.Item>
        ))}
      </List>
      {told.length > FILES_SHOWN && (
        <UnstyledButton className={classes.more} onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? "Show fewer" : `Show ${told.length - FILES_SHOWN} more`}
        </UnstyledButton>
      )}
    </div>
  )
}
