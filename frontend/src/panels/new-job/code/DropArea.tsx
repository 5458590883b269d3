import { Text } from "@mantine/core"
import { useState, type DragEvent, type ReactNode } from "react"
import type { PickedFile } from "@/lib/upload/bundle"
import { dropped } from "@/lib/upload/drop"
import classes from "./DropArea.module.css"

interface DropAreaProps {
  onFiles: (files: readonly PickedFile[]) => void
  /** Buttons that do the same without a mouse. */
  children: ReactNode
}

/** Takes files and folders that are dropped on it. */
export function DropArea({ onFiles, children }: DropAreaProps) {
  const [over, setOver] = useState(false)
  const [failed, setFailed] = useState<string | null>(null)
  const stop = (event: DragEvent, now: boolean) => {
    event.preventDefault() // else the browser would open the file
    setOver(now)
  }
  const drop = (event: DragEvent) => {
    stop(event, false)
    setFailed(null)
    dropped(event.dataTransfer.items).then(onFiles, (error: unknown) => setFailed(String(error)))
  }
  return (
    <div
      className={classes.area}
      data-over={over || undefined}
      data-testid="drop"
      onDragOver={(event) => stop(event, true)}
      onDragLeave={(event) => stop(event, false)}
      onDrop={drop}
    >
      <Text size="sm" c="dimmed" ta="center" mb="xs" className={classes.invitation}>
        Drop a folder or files here, or
      </Text>
      {children}
      {failed && (
        <Text size="sm" c="red" mt="xs" role="alert">
          The dropped files cannot be read: {failed}
        </Text>
      )}
    </div>
  )
}
