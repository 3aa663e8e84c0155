import SignalboxRoutes

let topic = try TopicPattern("push/{screen}/{action}")
print(topic.filter, topic.match("push/kiosk/loading") != nil)
