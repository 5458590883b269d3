import { ActionIcon, Button, Group, Popover, Stack, Text, TextInput, Tooltip } from "@mantine/core"
import { IconBookmark, IconTrash } from "@tabler/icons-react"
import { useState, type SubmitEvent } from "react"
import { Link } from "react-router"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { useSavedFilters } from "@/hooks/jobs/useSavedFilters"
import { addressOf, type JobView } from "@/lib/jobs/jobView"

/** The view has its own address; here it gets a name, which this browser keeps. */
export function SavedFilters({ view }: { view: JobView }) {
  const { saved, save, forget } = useSavedFilters()
  const [opened, setOpened] = useState(false)
  const [name, setName] = useState("")
  const search = addressOf(view)
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    save({ name: name.trim(), search })
    setName("")
  }
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" width={300} withArrow trapFocus>
      <Popover.Target>
        <Tooltip label="Saved filters">
          <ActionIcon variant="default" size={36} aria-label="Saved filters" onClick={() => setOpened((now) => !now)}>
            <IconBookmark size={18} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label="Saved filters">
        <Stack gap="xs">
          {saved.length === 0 && (
            <Text size="sm" c="dimmed">
              No saved filters. This page's address holds the current view, so you can share it.
            </Text>
          )}
          {saved.map((each) => (
            <Group key={each.name} gap={6} wrap="nowrap">
              <Button component={Link} to={`/jobs?${each.search}`} variant={each.search === search ? "light" : "subtle"} size="xs" flex={1} justify="flex-start" onClick={() => setOpened(false)}>
                {each.name}
              </Button>
              <CopyIcon value={`${window.location.origin}/jobs?${each.search}`} what={`the address of ${each.name}`} />
              <ActionIcon variant="subtle" color="gray" c="dimmed" size="sm" aria-label={`Delete ${each.name}`} onClick={() => forget(each.name)}>
                <IconTrash size={14} />
              </ActionIcon>
            </Group>
          ))}
          <form onSubmit={submit}>
            <Group gap="xs" wrap="nowrap">
              <TextInput size="xs" flex={1} maxLength={60} aria-label="Name for the current filters" placeholder="Name for the current filters" value={name} onChange={(event) => setName(event.currentTarget.value)} />
              <Button type="submit" size="xs" disabled={name.trim() === ""}>
                Save
              </Button>
            </Group>
          </form>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
