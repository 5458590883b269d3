import { Button, Group, Popover, Stack, TagsInput, Text } from "@mantine/core"
import { IconTag } from "@tabler/icons-react"
import { useState } from "react"
import type { JobSummary } from "@/client"
import { useJobCounts } from "@/hooks/jobs/useJobs"

interface TagButtonProps {
  selectedJobs: readonly JobSummary[]
  onChange: (action: "add_tags" | "remove_tags", tags: string[]) => Promise<void>
  pending: boolean
  error: Error | null
}

/** Adds tags to the selected jobs, or removes some from them. */
export function TagButton({ selectedJobs, onChange, pending, error }: TagButtonProps) {
  const [opened, setOpened] = useState(false)
  const [tags, setTags] = useState<string[]>([])
  const known = Object.keys(useJobCounts().data?.tag ?? {}).sort()
  const present = new Set(selectedJobs.flatMap((job) => job.tags))
  const change = (action: "add_tags" | "remove_tags") => {
    onChange(action, tags).then(
      () => {
        setTags([])
        setOpened(false)
      },
      () => undefined, // the reason comes as `error`
    )
  }
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" width={320} withArrow trapFocus>
      <Popover.Target>
        <Button size="xs" variant="default" leftSection={<IconTag size={14} />} onClick={() => setOpened((now) => !now)}>
          Tags
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Tags of the selected jobs">
        <Stack gap="xs">
          <TagsInput size="xs" label="Tags" placeholder="Type a tag, then press Enter" maxTags={20} data={known} value={tags} onChange={setTags} comboboxProps={{ withinPortal: false }} data-autofocus />
          {error && (
            <Text size="xs" c="var(--gs-bad)" role="alert">
              {error.message}
            </Text>
          )}
          <Group gap="xs">
            <Button size="xs" disabled={tags.length === 0} loading={pending} onClick={() => change("add_tags")}>
              Add
            </Button>
            <Button size="xs" variant="default" disabled={!tags.some((tag) => present.has(tag))} loading={pending} onClick={() => change("remove_tags")}>
              Remove
            </Button>
          </Group>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
