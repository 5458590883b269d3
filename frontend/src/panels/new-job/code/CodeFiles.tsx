import { List, Text, UnstyledButton } from "@mantine/core"
import { useState, type ReactNode } from "react"
import { formatBytes } from "@/lib/format"
import classes from "./DropArea.module.css"

interface CodeFilesProps {
  files: readonly { path: string; size: number }[]
  headline: ReactNode
  children?: ReactNode
}

const FILES_SHOWN = 8

/** Which files a bundle has or would have, and how large they are. */
export function CodeFiles({ files, headline, children }: CodeFilesProps) {
  const [all, setAll] = useState(false)
  const size = files.reduce((sum, file) => sum + file.size, 0)
  const shown = all ? files : files.slice(0, FILES_SHOWN)
  return (
    <div data-testid="code">
      <Text size="sm" mt="md">
        {headline} {files.length === 1 ? "1 file" : `${files.length} files`}, {formatBytes(size)}
      </Text>
      <List size="xs" mt={6} spacing={2} c="dimmed" className={classes.files}>
        {shown.map(({ path, size }) => (
          <List.Item key={path}>
            {path} ({formatBytes(size)})
          </List.Item>
        ))}
      </List>
      {files.length > FILES_SHOWN && (
        <UnstyledButton className={classes.more} onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? "Show fewer" : `Show ${files.length - FILES_SHOWN} more`}
        </UnstyledButton>
      )}
      {children}
    </div>
  )
}
