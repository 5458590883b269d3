import { Anchor } from "@mantine/core"
import { IconMapOff } from "@tabler/icons-react"
import { Link } from "react-router"
import { Loaded } from "@/components/Loaded"
import { PageTitle } from "@/components/PageTitle"

export function NotFoundPage() {
  return (
    <>
      <PageTitle title="Not found" />
      <Loaded
        isEmpty
        emptyIcon={IconMapOff}
        height={320}
        empty={
          <>
            There is no page at this address.{" "}
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
