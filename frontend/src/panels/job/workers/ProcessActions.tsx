import { ActionIcon, Menu } from "@mantine/core"
import { IconDotsVertical, IconFileText, IconPlayerStop, IconRefresh } from "@tabler/icons-react"
import { useState } from "react"
import { Link } from "react-router"
import type { Process } from "@/client"
import { useFeed } from "@/hooks/job/useFeed"
import { EndProcess } from "./EndProcess"

/** Actions on one process. */
export function ProcessActions({ process }: { process: Process }) {
  const [asked, setAsked] = useState<"restart" | "stop" | null>(null)
  const id = useFeed((feed) => feed.job.id)
  const running = useFeed((feed) => feed.job.status === "running") && process.ended_at === null
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size={28} aria-label={`Actions for ${process.label}`}>
            <IconDotsVertical size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item component={Link} to={`/jobs/${id}/logs?role=${process.role}${process.rank < 0 ? "" : `&rank=${process.rank}`}`} leftSection={<IconFileText size={16} />}>
            Show its log
          </Menu.Item>
          <Menu.Item leftSection={<IconRefresh size={16} />} disabled={!running} onClick={() => setAsked("restart")}>
            Restart
          </Menu.Item>
          {process.role === "worker" && (
            <Menu.Item leftSection={<IconPlayerStop size={16} />} disabled={!running} onClick={() => setAsked("stop")}>
              Stop
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {asked && <EndProcess process={process} how={asked} onClose={() => setAsked(null)} />}
    </>
  )
}
