import { ActionIcon, Group, Select, TextInput } from "@mantine/core"
import { IconRegex } from "@tabler/icons-react"
import { useProcesses } from "@/hooks/job/useJobHistory"
import { useLogFilter } from "@/hooks/job/useLogFilter"
import { useTyped } from "@/hooks/useTyped"
import { LEVELS } from "@/lib/logs/logFilter"

const ROLES = ["worker", "peers", "server", "evaluator"]
const LEAST: Record<string, string> = { debug: "Debug and above", info: "Info and above", warning: "Warnings and errors", error: "Errors" }

/** Selects the processes and the lines that are shown. */
export function LogFilterBar({ error }: { error: string | null }) {
  const [{ role, rank, level, regex }, change] = useLogFilter()
  const { data } = useProcesses()
  const roles = ROLES.filter((name) => name !== "peers" || data.some((process) => process.role === name))
  const ranks = [...new Set(data.filter((process) => process.rank >= 0 && (role === null || process.role === role)).map((process) => process.rank))].sort((a, b) => a - b)
  return (
    <Group gap="xs" px="md" pb="sm" align="flex-start">
      <Select size="xs" w={130} aria-label="Role" placeholder="All roles" data={roles} value={role} onChange={(value) => change({ role: value, rank: null })} clearable />
      <Select
        size="xs" w={110} aria-label="Rank" placeholder="All ranks" data={ranks.map(String)} clearable
        value={rank === null ? null : String(rank)}
        onChange={(value) => change({ rank: value === null ? null : Number(value) })}
      />
      <Select
        size="xs" w={180} aria-label="Level" placeholder="All levels" data={LEVELS.map((value) => ({ value, label: LEAST[value]! }))} clearable
        value={level}
        onChange={(value) => change({ level: value })}
      />
      <SearchField error={error} />
      <ActionIcon variant={regex ? "filled" : "default"} size={30} aria-pressed={regex} aria-label="Text is a regular expression" onClick={() => change({ regex: !regex })}>
        <IconRegex size={16} />
      </ActionIcon>
    </Group>
  )
}

function SearchField({ error }: { error: string | null }) {
  const [{ text }, change] = useLogFilter()
  const [typed, setTyped] = useTyped(text, (text) => change({ text }))
  return (
    <TextInput
      size="xs" flex={1} miw={160} type="search" aria-label="Text in the line" placeholder="Text in the line"
      value={typed} error={error}
      onChange={(event) => setTyped(event.currentTarget.value)}
    />
  )
}
