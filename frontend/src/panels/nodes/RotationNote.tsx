import { Alert, Text } from "@mantine/core"
import type { Node } from "@/client"
import { useNow } from "@/hooks/useNow"
import { formatAgo } from "@/lib/format"
import { whenRotated } from "./RotateButton"

/** The state of a rotation that was asked for: by anyone while it lasts, its result to who asked on this page (`asked`). */
export function RotationNote({ node: { status, rotating_since }, asked }: { node: Node; asked: boolean }) {
  const now = useNow()
  return (
    <div role="status">
      {(asked || rotating_since) && (
        <Alert variant="light" color={rotating_since ? "yellow" : "green"} p="xs" mb="sm">
          <Text size="sm">
            {rotating_since
              ? `A user asked for a new credential ${formatAgo(rotating_since, now)}. The agent makes it ${whenRotated(status)}; the old one ends then.`
              : "This node has a new credential; the old one no longer works."}
          </Text>
        </Alert>
      )}
    </div>
  )
}
