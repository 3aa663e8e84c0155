import WebSocketChat

let feed = WebSocketFeedConfiguration(source: "feed", url: try WebSocketURL("wss://chat.example.com/feed"))
print(feed.source)
