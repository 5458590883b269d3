import { Button, Group, Text } from "@mantine/core"
import { IconArrowUp } from "@tabler/icons-react"
import { counted, formatCount } from "@/lib/format"

interface ListStatusProps {
  /** Null: not read yet. */
  total: number | null
  /** All jobs, where filters leave some out and their number is known. */
  of: number | null
  /** Jobs that came since the list was read. */
  fresh: number
  readAgain: () => void
}

/** New jobs are announced, not put in: rows would move under whoever is about to click one. */
export function ListStatus({ total, of, fresh, readAgain }: ListStatusProps) {
  return (
    <Group px={18} py={4} mih={34} gap="md" role="status">
      <Text size="xs" c="dimmed" className="numbers">
        {total !== null && (of === null ? counted(total, "job") : `${formatCount(total)} of ${counted(of, "job")}`)}
      </Text>
      {fresh > 0 && (
        <Button size="compact-xs" variant="light" leftSection={<IconArrowUp size={13} />} onClick={readAgain}>
          {formatCount(fresh)} new
        </Button>
      )}
    </Group>
  )
}
