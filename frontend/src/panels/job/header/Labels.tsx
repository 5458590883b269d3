import { ActionIcon, Anchor, Badge, Button, Checkbox, Group, Popover, Stack, TagsInput, Text, Textarea, TextInput, Tooltip } from "@mantine/core"
import { IconPencil } from "@tabler/icons-react"
import { useState, type SubmitEvent } from "react"
import { Link } from "react-router"
import type { Job } from "@/client"
import { useEditJob } from "@/hooks/job/useJob"
import { useJobCounts } from "@/hooks/jobs/useJobs"
import { hasEnded } from "@/lib/status"
import classes from "./Labels.module.css"

const NAME = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/

/** Tags, each with a link to the jobs that have it, and the note. */
export function Labels({ job: { tags, note, archived } }: { job: Job }) {
  if (tags.length === 0 && !note && !archived) return null
  return (
    <div className={classes.labels}>
      {(tags.length > 0 || archived) && (
        <Group gap={6}>
          {archived && (
            <Badge variant="outline" color="gray" tt="none">
              archived
            </Badge>
          )}
          {tags.map((tag) => (
            <Anchor key={tag} component={Link} to={`/jobs?${new URLSearchParams({ tag }).toString()}`} size="xs" className={classes.tag}>
              {tag}
            </Anchor>
          ))}
        </Group>
      )}
      {note && (
        <Text size="sm" className={classes.note}>
          {note}
        </Text>
      )}
    </div>
  )
}

/** Changes the name, the tags and the note of a job, and archives it. The job file stays as it was submitted. */
export function EditLabels({ job }: { job: Job }) {
  const [opened, setOpened] = useState(false)
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" width={340} withArrow trapFocus>
      <Popover.Target>
        <Tooltip label="Edit name, tags and note">
          <ActionIcon variant="subtle" color="gray" c="dimmed" aria-label="Edit name, tags and note" onClick={() => setOpened((now) => !now)}>
            <IconPencil size={16} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label="Name, tags and note">
        <LabelForm job={job} close={() => setOpened(false)} />
      </Popover.Dropdown>
    </Popover>
  )
}

function LabelForm({ job, close }: { job: Job; close: () => void }) {
  const edit = useEditJob(job.id)
  const [name, setName] = useState(job.name)
  const [tags, setTags] = useState(job.tags)
  const [note, setNote] = useState(job.note)
  const [archived, setArchived] = useState(job.archived)
  const known = Object.keys(useJobCounts().data?.tag ?? {}).sort()
  const named = NAME.test(name)
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    edit.mutate({ name, tags, note, archived }, { onSuccess: close })
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="xs">
        <TextInput size="xs" label="Name" description="a-z, 0-9, '.', '_' and '-'" error={named ? null : "Begin and end with a letter or a digit, and use no other characters."} maxLength={63} value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <TagsInput size="xs" label="Tags" placeholder="Type a tag, then press Enter" maxTags={20} data={known} value={tags} onChange={setTags} comboboxProps={{ withinPortal: false }} />
        <Textarea size="xs" label="Note" autosize minRows={2} maxRows={8} maxLength={4000} value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        <Checkbox size="xs" label="Archived: lists leave the job out" disabled={!hasEnded(job)} checked={archived} onChange={(event) => setArchived(event.currentTarget.checked)} />
        {edit.error && (
          <Text size="xs" c="var(--gs-bad)" role="alert">
            {edit.error.message}
          </Text>
        )}
        <Group justify="flex-end" gap="xs">
          <Button size="xs" variant="default" onClick={close}>
            Cancel
          </Button>
          <Button size="xs" type="submit" disabled={!named} loading={edit.isPending}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
