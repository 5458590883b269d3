import { Anchor } from "@mantine/core"
import { IconMapOff } from "@tabler/icons-react"
import { Link } from "react-router"
import { Loaded } from "@/components/messages/Loaded"
import { PageTitle } from "./PageTitle"

/** A page for an address that leads to nothing: why, and a way back. */
export function NothingHere({ title, why }: { title: string; why: string }) {
  return (
    <>
      <PageTitle title={title} />
      <Loaded
        isEmpty
        emptyIcon={IconMapOff}
        height={320}
        empty={
          <>
            {why}{" "}
            <Anchor component={Link} to="/jobs" underline="always">
              To the list of jobs
            </Anchor>
          </>
        }
      >
        {null}
      </Loaded>
    </>
  )
}
