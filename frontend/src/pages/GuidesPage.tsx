import { Anchor } from "@mantine/core"
import { Link, useParams } from "react-router"
import { Loaded } from "@/components/messages/Loaded"
import { PageTitle } from "@/components/page/PageTitle"
import { useGuide } from "@/hooks/guides/useGuide"
import { GuidesList } from "@/panels/guides/GuidesList"
import { GuideText } from "@/panels/guides/GuideText"
import { NotFoundPage } from "./NotFoundPage"

/** The list of guides, or one of them. */
export function GuidesPage() {
  const { name } = useParams()
  if (name) return <GuidePage key={name} name={name} />
  return (
    <>
      <PageTitle title="Guides" subtitle="They belong to this version of Gradstream, and need no network." />
      <GuidesList />
    </>
  )
}

function GuidePage({ name }: { name: string }) {
  const guide = useGuide(name)
  if (guide.data === null) return <NotFoundPage />
  return (
    <>
      <PageTitle
        title={guide.data?.title ?? "Guide"}
        subtitle={
          <Anchor component={Link} to="/guides" inherit underline="always">
            All guides
          </Anchor>
        }
      />
      <Loaded {...guide}>{guide.data && <GuideText html={guide.data.html} />}</Loaded>
    </>
  )
}
