import { ActionIcon, Alert, Button, Group, Popover, Stack, Text, TextInput, Tooltip } from "@mantine/core"
import { IconBookmark, IconTrash, IconUsers } from "@tabler/icons-react"
import { useState, type SubmitEvent } from "react"
import { Link } from "react-router"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { useViews } from "@/hooks/views/useViews"
import type { SavedView, SaveView } from "@/client"

interface SavedViewsProps {
  place: Exclude<SaveView["place"], "job-metrics">
  path: string
  /** The view that is shown now, as it stands in the address. */
  query: string
}

/** Views with names, kept on the server: the user's own, and those that others share. */
export function SavedViews({ place, path, query }: SavedViewsProps) {
  const { views, items, save, remove } = useViews(place)
  const [opened, setOpened] = useState(false)
  const [name, setName] = useState("")
  const error = save.error ?? remove.error ?? views.error
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    save.mutate({ place, name: name.trim(), shared: false, state: { query } })
    setName("")
  }
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" width={340} withArrow trapFocus>
      <Popover.Target>
        <Tooltip label="Saved views">
          <ActionIcon variant="default" size={30} aria-label="Saved views" onClick={() => setOpened((now) => !now)}>
            <IconBookmark size={16} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label="Saved views">
        <Stack gap="xs">
          {items.length === 0 && (
            <Text size="sm" c="dimmed">
              No saved views. The address of this page holds the current view.
            </Text>
          )}
          {error && <Alert color="red" variant="light">{error.message}</Alert>}
          <Stack gap={4} mah={320} style={{ overflowY: "auto" }}>
            {items.map((view) => (
              <Item
                key={`${view.owner} ${view.name}`} view={view} path={path} query={query} onOpen={() => setOpened(false)} onDelete={() => remove.mutate(view.id)}
                onShare={() => save.mutate({ place, name: view.name, shared: !view.shared, state: { query: queryOf(view) } })}
              />
            ))}
          </Stack>
          <form onSubmit={submit}>
            <Group gap="xs" wrap="nowrap">
              <TextInput size="xs" flex={1} maxLength={60} aria-label="Name for the current view" placeholder="Name for the current view" value={name} onChange={(event) => setName(event.currentTarget.value)} />
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

interface ItemProps {
  view: SavedView
  path: string
  query: string
  onOpen: () => void
  onShare: () => void
  onDelete: () => void
}

function Item({ view, path, query, onOpen, onShare, onDelete }: ItemProps) {
  const { name, owner, mine, shared } = view
  const saved = queryOf(view)
  const tip = shared ? "Shared with all users. Share no longer" : "Share with all users"
  return (
    <Group gap={6} wrap="nowrap">
      <Button component={Link} to={`${path}?${saved}`} variant={saved === query ? "light" : "subtle"} size="xs" flex={1} justify="flex-start" onClick={onOpen}>
        {mine ? name : `${name} (${owner})`}
      </Button>
      {mine && (
        <Tooltip label={tip}>
          <ActionIcon variant={shared ? "light" : "subtle"} color={shared ? "stream" : "gray"} size="sm" aria-label={`Share ${name}`} aria-pressed={shared} onClick={onShare}>
            <IconUsers size={14} />
          </ActionIcon>
        </Tooltip>
      )}
      <CopyIcon value={`${window.location.origin}${path}?${saved}`} what={`the link to ${name}`} />
      {mine && (
        <ActionIcon variant="subtle" color="gray" c="dimmed" size="sm" aria-label={`Delete ${name}`} onClick={onDelete}>
          <IconTrash size={14} />
        </ActionIcon>
      )}
    </Group>
  )
}

function queryOf({ state }: SavedView): string {
  return "query" in state ? state.query : ""
}
