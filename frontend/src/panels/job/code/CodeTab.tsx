import { Anchor, Group, NavLink, Stack, Text } from "@mantine/core"
import { IconFileOff } from "@tabler/icons-react"
import { bundleUrl, type Bundle } from "@/client"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { SaveIcon } from "@/components/buttons/SaveIcon"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useBundle, useBundleFile } from "@/hooks/job/files/useBundle"
import { useFeed } from "@/hooks/job/useFeed"
import { put, useAddress } from "@/hooks/useAddress"
import { counted, formatBytes } from "@/lib/format"
import { firstShown } from "@/lib/job/files/code"
import { ParametersPanel } from "./ParametersPanel"
import { TextLines } from "./TextLines"
import { UncommittedPanel } from "./UncommittedPanel"
import classes from "./CodeTab.module.css"

/** The files of the job's code, as its processes got them, what of them was not committed, and the parameters of the model that it builds. */
export function CodeTab() {
  return (
    <Stack gap="md">
      <Code />
      <Uncommitted />
      <ParametersPanel />
    </Stack>
  )
}

function Code() {
  const job = useFeed((feed) => feed.job)
  if (job.bundle === null) {
    return (
      <Panel title="Code">
        <Loaded isEmpty empty="The job has no code of its own: its workload was importable on the nodes." emptyIcon={IconFileOff}>
          {null}
        </Loaded>
      </Panel>
    )
  }
  return <Files hash={job.bundle} entrypoint={job.spec.workload.entrypoint} commit={job.origin?.commit ?? null} dirty={job.origin?.dirty ?? null} />
}

function Uncommitted() {
  const job = useFeed((feed) => feed.job)
  return job.origin?.commit && job.origin.dirty ? <UncommittedPanel id={job.id} commit={job.origin.commit} /> : null
}

function Files({ hash, entrypoint, commit, dirty }: { hash: string; entrypoint: string; commit: string | null; dirty: boolean | null }) {
  const bundle = useBundle(hash)
  const [params, edit] = useAddress()
  const files = bundle.data?.files ?? []
  const shown = firstShown(files, entrypoint, params.get("file"))
  const origin = commit ? `, commit ${commit.slice(0, 12)}${dirty ? " (dirty: files that were sent differ)" : ""}` : ""
  return (
    <Panel
      title="Code"
      subtitle={
        <>
          {counted(files.length, "file")} as the processes got them{origin}.{" "}
          <Anchor inherit underline="always" href={bundleUrl(hash)} download>
            Download
          </Anchor>{" "}
          (bundle {hash.slice(0, 12)})
        </>
      }
    >
      <Loaded {...bundle}>
        <div className={classes.split}>
          <FileList files={files} shown={shown} onShow={(path) => edit((next) => put(next, "file", path))} />
          {shown !== null && <File key={shown} hash={hash} path={shown} />}
        </div>
      </Loaded>
    </Panel>
  )
}

function FileList({ files, shown, onShow }: { files: Bundle["files"]; shown: string | null; onShow: (path: string) => void }) {
  return (
    <nav aria-label="Files" className={classes.list}>
      {files.map(({ path, size }) => (
        <NavLink
          key={path} component="button" active={path === shown} aria-current={path === shown ? "true" : undefined} label={path} description={formatBytes(size)}
          onClick={() => onShow(path)} className={classes.file}
        />
      ))}
    </nav>
  )
}

function File({ hash, path }: { hash: string; path: string }) {
  const file = useBundleFile(hash, path)
  const text = file.data?.text ?? null
  return (
    <section aria-label={path} className={classes.content}>
      <Group justify="space-between" mb={6} wrap="nowrap">
        <Text size="sm" fw={550} style={{ overflowWrap: "anywhere" }}>
          {path}
        </Text>
        {text !== null && (
          <Group gap={4} wrap="nowrap">
            <CopyIcon value={text} what="the file" />
            <SaveIcon text={text} name={path.split("/").at(-1)!} what="the file" />
          </Group>
        )}
      </Group>
      <Loaded {...file} isEmpty={file.data !== undefined && text === null} empty="This file is binary, or longer than 1 MiB. Download the code to see it.">
        <TextLines text={text ?? ""} name={path} />
      </Loaded>
    </section>
  )
}
