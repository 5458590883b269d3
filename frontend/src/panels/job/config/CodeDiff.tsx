import { Text } from "@mantine/core"
import { Loaded } from "@/components/messages/Loaded"
import { useCodeDifferences } from "@/hooks/job/files/useBundle"
import { lineKind } from "@/lib/job/files/code"
import classes from "./CodeDiff.module.css"

const CHANGES = { added: "only in", removed: "only in", changed: "differs" }

/** The files of the code in which two jobs differ, line by line. */
export function CodeDiff({ bundles: [own, theirs], names }: { bundles: readonly [string | null, string | null]; names: readonly [string, string] }) {
  if (own === null || theirs === null) return <Sentence>{`${names[own === null ? 0 : 1]} has no code of its own.`}</Sentence>
  if (own === theirs) return <Sentence>Both jobs ran the same code.</Sentence>
  return <Files own={own} theirs={theirs} names={names} />
}

function Sentence({ children }: { children: string }) {
  return (
    <Text size="sm" px={18}>
      {children}
    </Text>
  )
}

function Files({ own, theirs, names }: { own: string; theirs: string; names: readonly [string, string] }) {
  const differences = useCodeDifferences(own, theirs)
  return (
    <Loaded {...differences}>
      {differences.data?.items.map((each) => (
        <DifferingFile key={each.path} {...each} says={`${CHANGES[each.change]}${each.change === "changed" ? "" : ` ${names[each.change === "removed" ? 0 : 1]}`}`} />
      ))}
    </Loaded>
  )
}

interface DifferingFileProps {
  path: string
  change: keyof typeof CHANGES
  lines: string[] | null
  /** In what it differs, beside its path. */
  says: string
}

/** A file that differs, with its lines if both sides have it. */
export function DifferingFile({ path, change, lines, says }: DifferingFileProps) {
  return (
    <section className={classes.file} aria-label={`Difference of ${path}`}>
      <Text size="sm" fw={550} mb={4} style={{ overflowWrap: "anywhere" }}>
        {path}{" "}
        <Text span inherit fw={400} c="dimmed">
          {says}
        </Text>
      </Text>
      {change === "changed" && <Lines path={path} lines={lines} />}
    </section>
  )
}

function Lines({ path, lines }: { path: string; lines: string[] | null }) {
  if (lines === null) return <Text size="sm">This file is binary, or too long to compare line by line.</Text>
  if (lines.length === 0) return <Text size="sm">Only the ends of lines differ.</Text>
  return (
    <pre className={classes.lines} tabIndex={0} role="region" aria-label={`Lines of ${path}`}>
      {lines.map((line, index) => (
        <span key={index} data-kind={lineKind(line)}>
          {line}
          {"\n"}
        </span>
      ))}
    </pre>
  )
}
