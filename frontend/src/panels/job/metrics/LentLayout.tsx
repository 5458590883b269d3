import { Button, Group, Text } from "@mantine/core"
import { Notice } from "@/components/messages/Notice"
import type { UsedLayout } from "@/hooks/views/useChartLayout"

/** Says whose layout this is, and what went wrong with it. */
export function LentLayout({ used: { lent, change, leaveLent, error, forgetError } }: { used: UsedLayout }) {
  return (
    <>
      {lent && !lent.mine && (
        <Group gap="sm" mb="md" role="status">
          <Text size="sm">Layout of {lent.owner}.</Text>
          <Button size="compact-xs" variant="light" onClick={() => change((now) => now)}>
            Use it as mine
          </Button>
          <Button size="compact-xs" variant="default" onClick={leaveLent}>
            Back to mine
          </Button>
        </Group>
      )}
      {error && (
        <Notice title="The layout was not kept or found" onClose={forgetError}>
          {error.message}
        </Notice>
      )}
    </>
  )
}
