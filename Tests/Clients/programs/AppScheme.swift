import AppScheme

let inbox = LinkInbox(links: 1)
print(inbox.open("myapp://product/1"), inbox.open("myapp://product/2"), inbox.waiting)
